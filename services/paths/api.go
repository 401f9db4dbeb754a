package paths

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	pathsv1 "github.com/millrace/millrace/proto/gen/millrace/paths/v1"
	"github.com/millrace/millrace/services/paths/compute"
)

// api is the Connect face of the component. Codes: INVALID_ARGUMENT for a
// request that is invalid, NOT_FOUND for a router or prefix the topology
// does not have, FAILED_PRECONDITION where the network has no such path.
type api struct{ c *Component }

func (a *api) Topology(context.Context, *connect.Request[pathsv1.TopologyRequest]) (*connect.Response[pathsv1.TopologyResponse], error) {
	out := &pathsv1.TopologyResponse{Snapshot: a.c.view.Load().merged.ToProto()}
	if heard := a.c.heard.Load(); heard != nil {
		out.Age = durationpb.New(time.Since(*heard))
	}
	return connect.NewResponse(out), nil
}

func (a *api) Compute(_ context.Context, req *connect.Request[pathsv1.ComputeRequest]) (*connect.Response[pathsv1.ComputeResponse], error) {
	v := a.c.view.Load()
	r, err := requestFromProto(v.graph, req.Msg)
	if err != nil {
		return nil, a.count("compute", err)
	}
	p, err := v.path(r)
	if err := a.count("compute", err); err != nil {
		return nil, err
	}
	return connect.NewResponse(&pathsv1.ComputeResponse{Path: pathToProto(p)}), nil
}

// ComputeSet finds several paths that have a bandwidth together.
func (a *api) ComputeSet(_ context.Context, req *connect.Request[pathsv1.ComputeSetRequest]) (*connect.Response[pathsv1.ComputeSetResponse], error) {
	v := a.c.view.Load()
	r, err := setRequestFromProto(v.graph, req.Msg)
	if err != nil {
		return nil, a.count("compute_set", err)
	}
	list, bandwidth, reason, err := v.set(r)
	if err := a.count("compute_set", err); err != nil {
		return nil, err
	}
	out := &pathsv1.ComputeSetResponse{Bandwidth: bandwidth, Reason: reason}
	for _, p := range list {
		out.Paths = append(out.Paths, &pathsv1.WeightedPath{Path: pathToProto(p.Path), Weight: uint32(p.Weight), Bandwidth: p.Bandwidth})
	}
	return connect.NewResponse(out), nil
}

func (a *api) Ecmp(_ context.Context, req *connect.Request[pathsv1.EcmpRequest]) (*connect.Response[pathsv1.EcmpResponse], error) {
	v := a.c.view.Load()
	from, to, err := ends(v.graph, req.Msg.GetFrom(), req.Msg.GetTo())
	if err != nil {
		return nil, a.count("ecmp", err)
	}
	paths, err := v.equal(from, to)
	if err := a.count("ecmp", err); err != nil {
		return nil, err
	}
	out := &pathsv1.EcmpResponse{}
	for _, p := range paths {
		out.Paths = append(out.Paths, pathToProto(p))
	}
	return connect.NewResponse(out), nil
}

func (a *api) PrefixOwners(_ context.Context, req *connect.Request[pathsv1.PrefixOwnersRequest]) (*connect.Response[pathsv1.PrefixOwnersResponse], error) {
	p, err := parsePrefix(req.Msg.GetPrefix())
	if err != nil {
		return nil, connect.NewError(connect.CodeInvalidArgument, err)
	}
	out := &pathsv1.PrefixOwnersResponse{}
	for _, n := range a.c.view.Load().graph.PrefixOwners(p) {
		out.Routers = append(out.Routers, n.Label())
	}
	if len(out.Routers) == 0 {
		return nil, connect.NewError(connect.CodeNotFound,
			fmt.Errorf("no router originates %s; see the prefixes of each with `millrace paths show`", p))
	}
	return connect.NewResponse(out), nil
}

// Segments finds the segments of a path that somebody has chosen.
func (a *api) Segments(_ context.Context, req *connect.Request[pathsv1.SegmentsRequest]) (*connect.Response[pathsv1.SegmentsResponse], error) {
	p, err := compute.Pin(a.c.view.Load().graph, req.Msg.GetLinks())
	if err := a.count("segments", err); err != nil {
		return nil, err
	}
	return connect.NewResponse(&pathsv1.SegmentsResponse{Path: pathToProto(p)}), nil
}

// count turns an error into one with a code, and counts the outcome.
func (a *api) count(method string, err error) error {
	var coded *connect.Error
	result := "found"
	switch {
	case err == nil:
	case errors.As(err, &coded):
		result = "invalid"
	case errors.Is(err, compute.ErrNoPath):
		result = "none"
		err = connect.NewError(connect.CodeFailedPrecondition, err)
	default:
		result = "invalid"
		err = connect.NewError(connect.CodeInvalidArgument, err)
	}
	a.c.metrics.requests.WithLabelValues(method, result).Inc()
	return err
}

// parsePrefix reads a prefix, or an address as the prefix of itself.
func parsePrefix(s string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(s); err == nil {
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return p, fmt.Errorf("%q is neither a prefix such as 192.0.2.0/24 nor an address", s)
	}
	return p.Masked(), nil
}
