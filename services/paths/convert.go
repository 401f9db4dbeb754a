package paths

import (
	"fmt"
	"math"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/topo"
	pathsv1 "github.com/millrace/millrace/proto/gen/millrace/paths/v1"
	"github.com/millrace/millrace/services/paths/compute"
)

func requestFromProto(g *topo.Graph, m *pathsv1.ComputeRequest) (compute.Request, error) {
	r := compute.Request{MinBandwidth: m.GetMinBandwidth(), AvoidShortest: m.GetAvoidShortest()}
	var err error
	if r.From, r.To, err = ends(g, m.GetFrom(), m.GetTo()); err != nil {
		return r, err
	}
	r.ExcludeNodes, r.ExcludeLinks, err = exclusions(g, m.GetExcludeNodes(), m.GetExcludeLinks())
	return r, err
}

// maxPaths is the most paths of a set; it is also the most LSPs that the router agent shares flows among.
const maxPaths = 16

func setRequestFromProto(g *topo.Graph, m *pathsv1.ComputeSetRequest) (compute.SetRequest, error) {
	r := compute.SetRequest{
		Bandwidth: m.GetBandwidth(), MaxPaths: int(m.GetMaxPaths()), AvoidShortest: m.GetAvoidShortest(), MaxSegments: int(m.GetMaxSegments()),
	}
	switch {
	case r.Bandwidth == 0 || r.Bandwidth > math.MaxInt64:
		return r, fmt.Errorf("a set of paths is for a bandwidth, and %d bit/s is none; give bandwidth", r.Bandwidth)
	case r.MaxPaths < 1 || r.MaxPaths > maxPaths:
		return r, fmt.Errorf("at most %d paths were requested; give max_paths from 1 to %d", r.MaxPaths, maxPaths)
	case r.MaxSegments > compute.MaxSegments:
		return r, fmt.Errorf("%d segments are more than the %d that a router takes", r.MaxSegments, compute.MaxSegments)
	}
	var err error
	if r.From, r.To, err = ends(g, m.GetFrom(), m.GetTo()); err != nil {
		return r, err
	}
	r.ExcludeNodes, r.ExcludeLinks, err = exclusions(g, m.GetExcludeNodes(), m.GetExcludeLinks())
	return r, err
}

func exclusions(g *topo.Graph, routers, ids []string) (nodes []*topo.Node, links []*topo.Link, err error) {
	for _, s := range routers {
		n, err := find(g, s)
		if err != nil {
			return nil, nil, err
		}
		nodes = append(nodes, n)
	}
	for _, s := range ids {
		l := g.Link(s)
		if l == nil {
			return nil, nil, connect.NewError(connect.CodeNotFound, fmt.Errorf("no link %q; `millrace paths show` lists their ids", s))
		}
		links = append(links, l)
	}
	return nodes, links, nil
}

func ends(g *topo.Graph, from, to string) (*topo.Node, *topo.Node, error) {
	f, err := find(g, from)
	if err != nil {
		return nil, nil, err
	}
	t, err := find(g, to)
	return f, t, err
}

func find(g *topo.Graph, s string) (*topo.Node, error) {
	n, err := g.Resolve(s)
	if err != nil {
		return nil, connect.NewError(connect.CodeNotFound, err)
	}
	return n, nil
}

func pathToProto(p *compute.Path) *pathsv1.Path {
	m := &pathsv1.Path{
		IgpCost: uint32(min(p.Cost, math.MaxUint32)), Bottleneck: p.Bottleneck, Reason: p.Reason,
	}
	for _, n := range p.Nodes {
		m.Nodes = append(m.Nodes, n.Label())
	}
	for _, l := range p.Links {
		m.Links = append(m.Links, l.ID)
	}
	for _, s := range p.Segments {
		m.Segments = append(m.Segments, s.String())
	}
	for _, s := range p.Adjacencies {
		m.Adjacencies = append(m.Adjacencies, s.String())
	}
	return m
}
