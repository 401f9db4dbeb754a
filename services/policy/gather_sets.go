package policy

import (
	"context"
	"fmt"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/topo"
	"github.com/millrace/millrace/internal/units"
	pathsv1 "github.com/millrace/millrace/proto/gen/millrace/paths/v1"
	"github.com/millrace/millrace/services/paths/compute"
	"github.com/millrace/millrace/services/policy/compile"
)

// severalPaths answers a demand for a path by hand, which is one of several, or for a set of computed ones.
func (c *Component) severalPaths(ctx context.Context, graph *topo.Graph, in *compile.Input, d compile.Demand) (err error) {
	if d.Via == "" {
		in.Sets[d], err = c.computeSet(ctx, d)
	} else {
		in.Paths[d], err = c.pathAlong(ctx, graph, d)
	}
	if why, refused := refusal(err); refused {
		delete(in.Paths, d)
		in.NoPath[d] = why
		return nil
	}
	if err != nil {
		return fmt.Errorf("compute paths from %s to %s: %w", d.From, d.To, err)
	}
	return nil
}

func (c *Component) computeSet(ctx context.Context, d compile.Demand) (out []compile.Weighted, err error) {
	r, err := c.deps.Paths.ComputeSet(ctx, connect.NewRequest(&pathsv1.ComputeSetRequest{
		From: d.From, To: d.To, Bandwidth: uint64(d.Bandwidth), MaxPaths: uint32(d.LSP.Paths), AvoidShortest: d.LSP.AvoidShortest,
	}))
	if err != nil {
		return nil, err
	}
	for _, m := range r.Msg.GetPaths() {
		path, err := pathFromProto(m.GetPath())
		if err != nil {
			return nil, err
		}
		out = append(out, compile.Weighted{Path: path, Weight: int(m.GetWeight()), Bandwidth: units.Rate(m.GetBandwidth())})
	}
	return out, nil
}

// pathAlong requests the segments of the links between the routers of a path by hand.
func (c *Component) pathAlong(ctx context.Context, graph *topo.Graph, d compile.Demand) (compile.Path, error) {
	links, err := compute.Along(graph, d.Routers())
	if err != nil {
		return compile.Path{}, connect.NewError(connect.CodeFailedPrecondition, err)
	}
	r, err := c.deps.Paths.Segments(ctx, connect.NewRequest(&pathsv1.SegmentsRequest{Links: links}))
	if err != nil {
		return compile.Path{}, err
	}
	path, err := pathFromProto(r.Msg.GetPath())
	path.Reason = "the path that the policy names"
	return path, err
}
