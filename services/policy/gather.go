package policy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/topo"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	pathsv1 "github.com/millrace/millrace/proto/gen/millrace/paths/v1"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
)

// attempts is how often a plan is begun anew where the topology changes while it is made.
const attempts = 3

// gather asks the other services for everything the compiler needs. A link that came meanwhile would leave pairs and
// circuits out whose paths are over it, and a plan without them takes their rules off routers; all else that changes in
// a network, and something always does, leaves nobody out wrongly.
func (c *Component) gather(ctx context.Context, p *document.Policy) (compile.Input, error) {
	for range attempts {
		in := compile.Input{Policy: *p}
		before, err := c.topology(ctx)
		if err != nil {
			return in, err
		}
		if err := c.gatherOn(ctx, before, &in); err != nil {
			return in, err
		}
		after, err := c.topology(ctx)
		if err != nil {
			return in, err
		}
		if in.Known() && !linkCame(before, after) {
			return in, nil
		}
	}
	return compile.Input{}, connect.NewError(connect.CodeUnavailable,
		fmt.Errorf("nothing is planned, for links came each of the %d times that the topology was looked at; try again when it has settled, see `millrace paths show`", attempts))
}

// linkCame reports whether a topology has a link that the one before has not.
func linkCame(before, after topo.Snapshot) bool {
	known := map[string]bool{}
	for _, l := range before.Links {
		known[l.ID] = true
	}
	return slices.ContainsFunc(after.Links, func(l topo.Link) bool { return !known[l.ID] })
}

func (c *Component) gatherOn(ctx context.Context, snapshot topo.Snapshot, in *compile.Input) error {
	graph := topo.NewGraph(snapshot)
	if len(graph.Nodes()) == 0 {
		return connect.NewError(connect.CodeUnavailable, errors.New("the topology is empty; wait until a router was reached, see `millrace paths show`"))
	}
	in.Routers, in.Links = c.networkFromGraph(graph)
	for _, ask := range []func(context.Context, *topo.Graph, *compile.Input) error{c.alphaPairs, c.betweenPairs, c.ecmp, c.paths, c.circuits} {
		if err := ask(ctx, graph, in); err != nil {
			return err
		}
	}
	return nil
}

func (c *Component) alphaPairs(ctx context.Context, graph *topo.Graph, in *compile.Input) error {
	if compile.AlphaRedirect(in.Policy) < 0 {
		return nil
	}
	list, err := c.deps.Alpha.List(ctx, connect.NewRequest(&alphav1.ListRequest{}))
	if err != nil {
		return fmt.Errorf("list alpha pairs: %w", err)
	}
	for _, pair := range list.Msg.GetPairs() {
		mapped, err := c.mapPair(ctx, graph, pair)
		if err != nil {
			return err
		}
		rule, why := compile.AlphaRule(in.Policy, tagsFromProto(pair))
		mapped.Redirect, mapped.Unmapped = rule, cmp.Or(mapped.Unmapped, why)
		in.Pairs = append(in.Pairs, mapped)
	}
	return nil
}

// prefixOwners finds the routers that originate a prefix. The IGP carries IPv4 only; for IPv6 the subnets of the
// interfaces tell.
func prefixOwners(g *topo.Graph, p netip.Prefix) []*topo.Node {
	out := g.PrefixOwners(p)
	if len(out) > 0 || p.Addr().Is4() {
		return out
	}
	for _, n := range g.Nodes() {
		if slices.ContainsFunc(n.Interfaces, func(i topo.Interface) bool { return slices.ContainsFunc(i.Addresses, p.Overlaps) }) {
			out = append(out, n)
		}
	}
	return out
}

// betweenPairs maps the pairs written in the policy: they enter at every router that originates the source.
func (c *Component) betweenPairs(ctx context.Context, g *topo.Graph, in *compile.Input) error {
	for _, p := range compile.Between(in.Policy) {
		sources := prefixOwners(g, p.Src)
		if len(sources) == 0 {
			p.Unmapped = fmt.Sprintf("no router originates %s", p.Src)
			in.Pairs = append(in.Pairs, p)
		}
		for _, n := range sources {
			var err error
			p.Ingress = n.Label()
			if p.Egress, err = c.nearest(ctx, p.Ingress, prefixOwners(g, p.Dst)); err != nil {
				return err
			}
			if p.Egress == "" {
				p.Unmapped = fmt.Sprintf("no router originates %s", p.Dst)
			}
			in.Pairs = append(in.Pairs, p)
		}
	}
	return nil
}

// ecmp requests the equal-cost paths of pairs that stay on the IGP's.
func (c *Component) ecmp(ctx context.Context, _ *topo.Graph, in *compile.Input) error {
	in.ECMP, in.Unreachable = map[compile.RouterPair][]compile.Path{}, map[compile.RouterPair]string{}
	for _, e := range compile.RouterPairs(in.Policy, in.Pairs) {
		r, err := c.deps.Paths.Ecmp(ctx, connect.NewRequest(&pathsv1.EcmpRequest{From: e.From, To: e.To}))
		if why, refused := refusal(err); refused {
			in.Unreachable[e] = why
			continue
		}
		if err != nil {
			return fmt.Errorf("list the paths from %s to %s: %w", e.From, e.To, err)
		}
		for _, m := range r.Msg.GetPaths() {
			path, err := pathFromProto(m)
			if err != nil {
				return fmt.Errorf("path from %s to %s: %w", e.From, e.To, err)
			}
			in.ECMP[e] = append(in.ECMP[e], path)
		}
	}
	return nil
}

// refusal is the reason of an answer that says no, as against one that never came.
func refusal(err error) (string, bool) {
	var refused *connect.Error
	if errors.As(err, &refused) && (refused.Code() == connect.CodeFailedPrecondition || refused.Code() == connect.CodeNotFound) {
		return refused.Message(), true
	}
	return "", false
}

func (c *Component) topology(ctx context.Context) (topo.Snapshot, error) {
	r, err := c.deps.Paths.Topology(ctx, connect.NewRequest(&pathsv1.TopologyRequest{}))
	if err != nil {
		return topo.Snapshot{}, fmt.Errorf("read the topology: %w", err)
	}
	snapshot, err := topo.FromProto(r.Msg.GetSnapshot())
	if err != nil {
		return topo.Snapshot{}, fmt.Errorf("read the topology: %w", err)
	}
	return snapshot, nil
}

// mapPair finds where the pair enters (the router that exported its flows)
// and leaves (the router that originates the destination, the nearest of several).
func (c *Component) mapPair(ctx context.Context, g *topo.Graph, m *alphav1.Pair) (compile.Pair, error) {
	p, err := pairFromProto(m)
	if err != nil {
		return p, fmt.Errorf("alpha pair %s: %w", m.GetId(), err)
	}
	exporter, err := netip.ParseAddr(m.GetExporter())
	if err != nil {
		return p, fmt.Errorf("alpha pair %s: exporter: %w", m.GetId(), err)
	}
	ingress, known := c.deps.Inventory.ByExporter(exporter)
	if !known {
		p.Unmapped = fmt.Sprintf("no device of the inventory exports flows from %s; add the address to its exporters", exporter)
		return p, nil
	}
	p.Ingress = ingress.Name
	if _, err := g.Resolve(p.Ingress); err != nil {
		p.Unmapped = fmt.Sprintf("its ingress router %s is not in the topology", p.Ingress)
		return p, nil
	}
	p.Egress, err = c.nearest(ctx, p.Ingress, prefixOwners(g, p.Dst))
	if err == nil && p.Egress == "" {
		p.Unmapped = fmt.Sprintf("no router originates %s", p.Dst)
	}
	return p, err
}

func (c *Component) nearest(ctx context.Context, from string, to []*topo.Node) (string, error) {
	if len(to) == 0 {
		return "", nil
	}
	if len(to) == 1 || slices.ContainsFunc(to, func(n *topo.Node) bool { return n.Label() == from }) {
		if i := slices.IndexFunc(to, func(n *topo.Node) bool { return n.Label() == from }); i >= 0 {
			return from, nil
		}
		return to[0].Label(), nil
	}
	best, least := "", ^uint32(0)
	for _, n := range to {
		r, err := c.deps.Paths.Ecmp(ctx, connect.NewRequest(&pathsv1.EcmpRequest{From: from, To: n.Label()}))
		if connect.CodeOf(err) == connect.CodeFailedPrecondition {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("find the nearest of %d egress routers: %w", len(to), err)
		}
		if cost := r.Msg.GetPaths()[0].GetIgpCost(); cost < least || (cost == least && n.Label() < best) {
			best, least = n.Label(), cost
		}
	}
	return cmp.Or(best, to[0].Label()), nil
}

// paths asks once per demand; a demand the network cannot meet leaves its pairs out.
func (c *Component) paths(ctx context.Context, graph *topo.Graph, in *compile.Input) error {
	in.Paths, in.NoPath, in.Sets = map[compile.Demand]compile.Path{}, map[compile.Demand]string{}, map[compile.Demand][]compile.Weighted{}
	for _, d := range compile.Demands(in.Policy, in.Pairs) {
		if d.Via != "" || d.LSP.Set() {
			if err := c.severalPaths(ctx, graph, in, d); err != nil {
				return err
			}
			continue
		}
		r, err := c.deps.Paths.Compute(ctx, connect.NewRequest(&pathsv1.ComputeRequest{
			From: d.From, To: d.To,
			MinBandwidth: uint64(d.LSP.MinBandwidth), AvoidShortest: d.LSP.AvoidShortest,
		}))
		if why, refused := refusal(err); refused {
			in.NoPath[d] = why
			continue
		}
		if err != nil {
			return fmt.Errorf("compute a path from %s to %s: %w", d.From, d.To, err)
		}
		if in.Paths[d], err = pathFromProto(r.Msg.GetPath()); err != nil {
			return fmt.Errorf("path from %s to %s: %w", d.From, d.To, err)
		}
	}
	return nil
}
