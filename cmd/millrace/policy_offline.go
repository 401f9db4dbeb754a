package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"slices"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/topo"
	"github.com/millrace/millrace/internal/units"
	"github.com/millrace/millrace/policies"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	"github.com/millrace/millrace/services/paths/compute"
	policyservice "github.com/millrace/millrace/services/policy"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
	"github.com/millrace/millrace/services/policy/offline"
)

// offline plans a file for a network in another, with the very code the services run.
func (f planFlags) offline(policy string) (*policyv1.PlanResponse, error) {
	p, err := readPolicy(policy)
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(f.network)
	if err != nil {
		return nil, coded{fmt.Errorf("read network: %w", err), exitUsage}
	}
	n, err := offline.Parse(raw)
	if err != nil {
		return nil, coded{fmt.Errorf("%s: %w", f.network, err), exitUsage}
	}
	if f.router != "" && !slices.ContainsFunc(n.Routers, func(r offline.Router) bool { return r.Name == f.router }) {
		return nil, coded{fmt.Errorf("there is no router %s in %s", f.router, f.network), exitUnmet}
	}
	find, err := newFinder(n)
	if err != nil {
		return nil, coded{fmt.Errorf("%s: %w", f.network, err), exitUsage}
	}
	result, err := compile.Compile(n.Input(*p, find))
	if err != nil {
		return nil, coded{err, exitUnmet}
	}
	r, err := renderers().Response(result, policyservice.Request{Router: f.router, Syntax: f.render, Inventory: &device.Inventory{}})
	if err != nil {
		return nil, coded{err, exitUnmet}
	}
	return r, nil
}

// readPolicy reads a file, or a shipped policy by its name.
func readPolicy(name string) (*document.Policy, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		if shipped, shippedErr := policies.Files.ReadFile(name + ".yaml"); shippedErr == nil {
			text, err = shipped, nil
		}
	}
	if err != nil {
		return nil, coded{fmt.Errorf("read policy: %w; write a file, or the name of a shipped policy", err), exitUsage}
	}
	p, problems := document.Parse(name, string(text))
	if err := document.Join(problems); err != nil {
		return nil, coded{err, exitUnmet}
	}
	return p, nil
}

// finder computes paths as services/paths does.
type finder struct {
	graph *topo.Graph
}

func newFinder(n *offline.Network) (*finder, error) {
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
	for _, l := range n.Links {
		s.Links = append(s.Links, topo.Link{
			ID: l.ID, From: ids[l.From], To: ids[l.To], Interface: l.Egress, Metric: l.Metric, Bandwidth: uint64(l.Bandwidth),
		})
	}
	return &finder{graph: topo.NewGraph(s)}, nil
}

// PrefixOwners implements offline.Finder.
func (f *finder) PrefixOwners(p netip.Prefix) []string {
	var out []string
	for _, n := range f.graph.PrefixOwners(p) {
		out = append(out, n.Label())
	}
	return out
}

// Path implements offline.Finder.
func (f *finder) Path(d compile.Demand) (compile.Path, error) {
	from, to, err := f.ends(d.From, d.To)
	if err != nil {
		return compile.Path{}, err
	}
	p, err := compute.CSPF(f.graph, compute.Request{
		From: from, To: to, MinBandwidth: uint64(d.LSP.MinBandwidth), AvoidShortest: d.LSP.AvoidShortest,
	})
	if err != nil {
		return compile.Path{}, err
	}
	return compiledPath(p), nil
}

// ECMP implements offline.Finder.
func (f *finder) ECMP(e compile.RouterPair) ([]compile.Path, error) {
	from, to, err := f.ends(e.From, e.To)
	if err != nil {
		return nil, err
	}
	list, err := compute.ECMP(f.graph, from, to)
	if err != nil {
		return nil, err
	}
	var out []compile.Path
	for _, p := range list {
		out = append(out, compiledPath(p))
	}
	return out, nil
}

func (f *finder) ends(a, b string) (from, to *topo.Node, err error) {
	if from, err = f.graph.Resolve(a); err != nil {
		return nil, nil, err
	}
	to, err = f.graph.Resolve(b)
	return from, to, err
}

func compiledPath(p *compute.Path) compile.Path {
	out := compile.Path{Segments: p.Segments, Bottleneck: units.Rate(p.Bottleneck), Reason: p.Reason}
	for _, n := range p.Nodes {
		out.Nodes = append(out.Nodes, n.Label())
	}
	for _, l := range p.Links {
		out.Links = append(out.Links, l.ID)
	}
	return out
}
