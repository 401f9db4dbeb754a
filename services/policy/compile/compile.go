package compile

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/units"
	"github.com/millrace/millrace/services/policy/document"
)

// Demands lists the LSPs the placed pairs ask for, each once, sorted.
func Demands(p document.Policy, pairs []Pair) []Demand {
	seen := map[Demand]bool{}
	var out []Demand
	for _, pair := range pairs {
		d := demandOf(p, pair)
		if pair.Unplaced == "" && pair.Ingress != pair.Egress && !seen[d] {
			seen[d] = true
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b Demand) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return out
}

// demandOf uses the one redirect there is: pairs have one source in this version.
func demandOf(p document.Policy, pair Pair) Demand {
	d := Demand{From: pair.Ingress, To: pair.Egress}
	if lsp := p.Redirect[0].LSP; lsp != nil {
		d.LSP = *lsp
	}
	return d
}

// Compile makes the plans. An error means that the policy does not fit this
// network, whatever the pairs.
func Compile(in Input) (Result, error) {
	c := newCompiler(in)
	for _, pair := range sortedPairs(in.Pairs) {
		if why := c.place(pair); why != "" {
			c.skip(pair, why)
		}
	}
	return c.result()
}

type compiler struct {
	in      Input
	routers map[string]Router
	links   map[string]Link
	// core holds the interfaces that are links, per router.
	core   map[string]map[string]bool
	drafts map[string]*draft
	out    Result
	err    error
}

func newCompiler(in Input) *compiler {
	c := &compiler{
		in: in, routers: map[string]Router{}, links: map[string]Link{},
		core: map[string]map[string]bool{}, drafts: map[string]*draft{},
	}
	for _, r := range in.Routers {
		c.routers[r.Name] = r
		c.core[r.Name] = map[string]bool{}
	}
	for _, l := range in.Links {
		c.links[l.ID] = l
		if l.Egress != "" && c.core[l.From] != nil {
			c.core[l.From][l.Egress] = true
		}
		if l.Ingress != "" && c.core[l.To] != nil {
			c.core[l.To][l.Ingress] = true
		}
	}
	return c
}

// sortedPairs puts the most specific first, so that of two pairs that both
// match a packet the narrower one decides, and makes the order that of the
// prefixes otherwise.
func sortedPairs(pairs []Pair) []Pair {
	out := slices.Clone(pairs)
	slices.SortFunc(out, func(a, b Pair) int {
		return cmp.Or(
			cmp.Compare(b.Src.Bits()+b.Dst.Bits(), a.Src.Bits()+a.Dst.Bits()),
			a.Src.Compare(b.Src), a.Dst.Compare(b.Dst),
			cmp.Compare(a.ID, b.ID),
		)
	})
	return out
}

func (c *compiler) skip(p Pair, why string) {
	c.out.Skipped = append(c.out.Skipped, Skipped{Pair: p.ID, Why: why})
}

// place plans one pair on every router of its way; it returns why it cannot.
func (c *compiler) place(p Pair) string {
	switch ingress, known := c.routers[p.Ingress]; {
	case p.Unplaced != "":
		return p.Unplaced
	case !p.Src.IsValid() || !p.Dst.IsValid():
		return "its prefixes are not valid"
	case !p.Src.Addr().Is4() || !p.Dst.Addr().Is4():
		return "it is IPv6, and LSPs carry IPv4 in this version"
	case p.Ingress == p.Egress:
		return fmt.Sprintf("it enters and leaves at %s, so there is no path to choose", p.Ingress)
	case !known || !ingress.Managed:
		return fmt.Sprintf("its ingress router %s is not managed", p.Ingress)
	}
	demand := demandOf(c.in.Policy, p)
	path, ok := c.in.Paths[demand]
	if !ok {
		return cmp.Or(c.in.NoPath[demand], fmt.Sprintf("no path from %s to %s", demand.From, demand.To))
	}
	hops, why := c.hops(path)
	if why != "" {
		return why
	}
	c.checkShare(demand, path)
	c.planIngress(p, demand, path)
	for i, l := range hops[1:] {
		c.planTransit(p, hops[i], l)
	}
	c.planEgress(p, hops[len(hops)-1])
	return ""
}

// hops resolves the path's links.
func (c *compiler) hops(path Path) ([]Link, string) {
	if len(path.Links) == 0 || len(path.Segments) == 0 {
		return nil, "the path has no links or no segments"
	}
	hops := make([]Link, len(path.Links))
	for i, id := range path.Links {
		l, ok := c.links[id]
		if !ok {
			return nil, fmt.Sprintf("link %s of the path is no longer in the topology", id)
		}
		hops[i] = l
	}
	return hops, ""
}

// checkShare is the guard rail that needs the network: the queue must
// guarantee what the policy says an alpha flow is worth.
func (c *compiler) checkShare(d Demand, path Path) {
	q := c.queue()
	share := path.Bottleneck * units.Rate(q.Weight) / 100
	if path.Bottleneck > 0 && share < d.LSP.MinBandwidth && c.err == nil {
		c.err = fmt.Errorf("policy %s: queue %s guarantees %s of the %s bottleneck between %s and %s, less than min_bandwidth %s; raise its weight or lower min_bandwidth",
			c.in.Policy.Name, q.Name, share, path.Bottleneck, d.From, d.To, d.LSP.MinBandwidth)
	}
}

func (c *compiler) queue() document.Queue {
	q, _ := c.in.Policy.QueueByName(c.in.Policy.Redirect[0].Queue)
	return q
}

func (c *compiler) planIngress(p Pair, d Demand, path Path) {
	r := c.routers[p.Ingress]
	dr := c.draft(p.Ingress)
	name := LSPName(d, path)
	dr.lsps[name] = LSP{
		Name: name, Destination: path.Segments[len(path.Segments)-1], Hops: path.Segments, Reason: path.Reason,
	}
	dr.redirect(p, c.queue().Name, name, c.customerPorts(r))
	for port := range c.core[r.Name] {
		dr.port(c.iface(r, port))
	}
	dr.reason(fmt.Sprintf("ingress of LSP %s (%s): %s", name, strings.Join(path.Nodes, "–"), path.Reason))
}

// planTransit is for the router between two links: rules where the first arrives, queues where the second leaves.
func (c *compiler) planTransit(p Pair, in, out Link) {
	if r := c.routers[in.To]; r.Managed {
		dr := c.draft(r.Name)
		dr.classify(p, c.queue().Name, in.Ingress)
		dr.port(c.iface(r, out.Egress))
		dr.reason(fmt.Sprintf("transit of the LSP from %s to %s", p.Ingress, p.Egress))
	}
}

// planEgress keeps alpha packets in their queue on the last port too, the one the destination is behind.
func (c *compiler) planEgress(p Pair, in Link) {
	if r := c.routers[in.To]; r.Managed {
		dr := c.draft(r.Name)
		dr.classify(p, c.queue().Name, in.Ingress)
		for _, port := range c.destinationPorts(r, p.Dst) {
			dr.port(port)
		}
		dr.reason(fmt.Sprintf("egress of the LSP from %s", p.Ingress))
	}
}

func (c *compiler) iface(r Router, name string) Interface {
	for _, i := range r.Interfaces {
		if i.Name == name {
			return i
		}
	}
	return Interface{Name: name}
}

// customerPorts are the interfaces that carry traffic and are no links.
func (c *compiler) customerPorts(r Router) []Interface {
	var out []Interface
	for _, i := range r.Interfaces {
		if !c.core[r.Name][i.Name] && i.carriesTraffic(r) {
			out = append(out, i)
		}
	}
	return out
}

// carriesTraffic leaves out loopbacks, ports without an address and the management port.
func (i Interface) carriesTraffic(r Router) bool {
	routed := false
	for _, a := range i.Addresses {
		if a.Addr() == r.Loopback || a.Addr().IsLoopback() || (r.Management.IsValid() && a.Addr() == r.Management) {
			return false
		}
		routed = routed || (a.Addr().Is4() && !a.IsSingleIP())
	}
	return routed
}

// destinationPorts are those with an address in the destination prefix; if it
// is attached further on, all customer ports.
func (c *compiler) destinationPorts(r Router, dst netip.Prefix) []Interface {
	customers := c.customerPorts(r)
	var out []Interface
	for _, i := range customers {
		if slices.ContainsFunc(i.Addresses, dst.Overlaps) {
			out = append(out, i)
		}
	}
	if len(out) == 0 {
		return customers
	}
	return out
}

var unfit = regexp.MustCompile(`[^a-z0-9-]+`)

// LSPName tells ends and path apart: another path is another LSP, so that the
// new one is up before the rules leave the old one.
func LSPName(d Demand, path Path) string {
	sum := sha256.Sum256(fmt.Append(nil, path.Segments))
	ends := unfit.ReplaceAllString(strings.ToLower(d.From+"-"+d.To), "-")
	return fmt.Sprintf("te-lsp-%s-%s", ends, hex.EncodeToString(sum[:3]))
}
