package offline

import (
	"fmt"
	"net/netip"

	"github.com/millrace/millrace/internal/topo"
	"github.com/millrace/millrace/internal/units"
	"github.com/millrace/millrace/services/paths/compute"
	"github.com/millrace/millrace/services/policy/compile"
)

// finder computes paths as services/paths does, over the network of the file.
type finder struct {
	graph *topo.Graph
}

// NewFinder computes paths with the code of services/paths. Every router needs a loopback: segments are loopbacks.
func NewFinder(n *Network) (Finder, error) {
	s := topo.Snapshot{Area: "0.0.0.0"}
	ids := map[string]netip.Addr{}
	for i, r := range n.Routers {
		if !r.Loopback.IsValid() {
			return nil, fmt.Errorf("router %s has no loopback, which paths are computed and written with; add loopback:", r.Name)
		}
		ids[r.Name] = r.Loopback
		node := topo.Node{ID: r.Loopback, Name: r.Name, Loopback: r.Loopback, SIDLabel: 16000 + uint32(i)}
		for _, port := range r.Interfaces {
			for _, a := range port.Addresses {
				node.Prefixes = append(node.Prefixes, a.Masked())
			}
		}
		s.Nodes = append(s.Nodes, node)
	}
	for i, l := range n.Links {
		s.Links = append(s.Links, topo.Link{
			ID: l.ID, From: ids[l.From], To: ids[l.To], Interface: l.Egress, Metric: l.Metric, Bandwidth: uint64(l.Bandwidth),
			RemoteAddress: n.address(l.To, l.Ingress), AdjacencySID: 15000 + uint32(i),
		})
	}
	return &finder{graph: topo.NewGraph(s)}, nil
}

// PrefixOwners implements Finder.
func (f *finder) PrefixOwners(p netip.Prefix) []string {
	var out []string
	for _, n := range f.graph.PrefixOwners(p) {
		out = append(out, n.Label())
	}
	return out
}

// Path implements Finder.
func (f *finder) Path(d compile.Demand) (compile.Path, error) {
	if d.Via != "" {
		return f.along(d)
	}
	from, to, err := f.resolve(d.From, d.To)
	if err != nil {
		return compile.Path{}, err
	}
	p, err := compute.CSPF(f.graph, compute.Request{
		From: from, To: to, MinBandwidth: uint64(d.LSP.MinBandwidth), AvoidShortest: d.LSP.AvoidShortest,
	})
	if err != nil {
		return compile.Path{}, err
	}
	return compiled(p), nil
}

// along is a path by hand.
func (f *finder) along(d compile.Demand) (compile.Path, error) {
	links, err := compute.Along(f.graph, d.Routers())
	if err != nil {
		return compile.Path{}, err
	}
	p, err := compute.Pin(f.graph, links)
	if err != nil {
		return compile.Path{}, err
	}
	p.Reason = "the path that the policy names"
	return compiled(p), nil
}

// Set implements Finder.
func (f *finder) Set(d compile.Demand) ([]compile.Weighted, error) {
	from, to, err := f.resolve(d.From, d.To)
	if err != nil {
		return nil, err
	}
	x, err := compute.NewIndex(f.graph)
	if err != nil {
		return nil, err
	}
	paths, _, _, err := x.Set(compute.SetRequest{
		From: from, To: to, Bandwidth: uint64(d.Bandwidth), MaxPaths: int(d.LSP.Paths), AvoidShortest: d.LSP.AvoidShortest,
	})
	var out []compile.Weighted
	for _, p := range paths {
		out = append(out, compile.Weighted{Path: compiled(p.Path), Weight: p.Weight, Bandwidth: units.Rate(p.Bandwidth)})
	}
	return out, err
}

// ECMP implements Finder.
func (f *finder) ECMP(e compile.RouterPair) ([]compile.Path, error) {
	from, to, err := f.resolve(e.From, e.To)
	if err != nil {
		return nil, err
	}
	list, err := compute.ECMP(f.graph, from, to)
	if err != nil {
		return nil, err
	}
	var out []compile.Path
	for _, p := range list {
		out = append(out, compiled(p))
	}
	return out, nil
}

// Segments implements Finder.
func (f *finder) Segments(links []string) (compile.Path, error) {
	p, err := compute.Pin(f.graph, links)
	if err != nil {
		return compile.Path{}, err
	}
	return compiled(p), nil
}

func (f *finder) resolve(a, b string) (from, to *topo.Node, err error) {
	if from, err = f.graph.Resolve(a); err != nil {
		return nil, nil, err
	}
	to, err = f.graph.Resolve(b)
	return from, to, err
}

func compiled(p *compute.Path) compile.Path {
	out := compile.Path{Segments: p.Segments, Adjacencies: p.Adjacencies, Bottleneck: units.Rate(p.Bottleneck), Reason: p.Reason}
	for _, n := range p.Nodes {
		out.Nodes = append(out.Nodes, n.Label())
	}
	for _, l := range p.Links {
		out.Links = append(out.Links, l.ID)
	}
	return out
}
