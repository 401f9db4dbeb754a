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
	for _, s := range m.GetExcludeNodes() {
		n, err := find(g, s)
		if err != nil {
			return r, err
		}
		r.ExcludeNodes = append(r.ExcludeNodes, n)
	}
	for _, s := range m.GetExcludeLinks() {
		l := g.Link(s)
		if l == nil {
			return r, connect.NewError(connect.CodeNotFound, fmt.Errorf("no link %q; `millrace paths show` lists their ids", s))
		}
		r.ExcludeLinks = append(r.ExcludeLinks, l)
	}
	return r, nil
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
	return m
}
