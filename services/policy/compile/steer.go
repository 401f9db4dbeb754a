package compile

import (
	"cmp"
	"fmt"

	"github.com/millrace/millrace/services/policy/document"
)

// flow is traffic that has a rule on every router of its way: a pair's, or that of one match of a circuit.
type flow struct {
	rule            Rule
	ingress, egress string
}

func (c *compiler) flowOf(p Pair) flow {
	return flow{Rule{Pair: p.ID, Match: Match{Src: p.Src, Dst: p.Dst}, Queue: c.redirect(p).Queue}, p.Ingress, p.Egress}
}

// steer plans one pair on every router of its path; it returns why it cannot.
func (c *compiler) steer(p Pair) string {
	switch {
	case p.Unmapped != "":
		return p.Unmapped
	case !p.Src.IsValid() || !p.Dst.IsValid():
		return "its prefixes are not valid"
	case onLSPs(c.redirect(p)):
		return c.steerOnLSPs(p)
	case p.Ingress == p.Egress:
		return c.steerWithin(p)
	}
	return c.classifyOnECMP(p)
}

// steerOnLSPs is for pairs that get a path of their own, or several.
func (c *compiler) steerOnLSPs(p Pair) string {
	switch {
	case !p.Src.Addr().Is4() || !p.Dst.Addr().Is4():
		return "it is IPv6, and LSPs carry IPv4 in this version"
	case p.Ingress == p.Egress:
		return fmt.Sprintf("it enters and leaves at %s, so there is no path to choose", p.Ingress)
	case !c.routers[p.Ingress].Managed: // nor is one that the topology does not know
		return fmt.Sprintf("its ingress router %s is not managed", p.Ingress)
	}
	paths, why := c.weighted(p)
	if why != "" {
		return why
	}
	var along [][]Link
	for _, w := range paths {
		hops, why := c.hops(w.Path)
		if why != "" {
			return why
		}
		along = append(along, hops)
	}
	c.checkShare(p, paths)
	c.planIngress(c.flowOf(p), c.planLSPs(p, paths))
	for _, hops := range along {
		c.planBehind(c.flowOf(p), hops, "the LSP from "+p.Ingress)
	}
	return ""
}

// classifyOnECMP classifies a pair on every equal-cost path: the IGP may choose any.
func (c *compiler) classifyOnECMP(p Pair) string {
	routers := RouterPair{p.Ingress, p.Egress}
	paths := c.in.ECMP[routers]
	if len(paths) == 0 {
		return cmp.Or(c.in.Unreachable[routers], fmt.Sprintf("no path from %s to %s", routers.From, routers.To))
	}
	var along [][]Link
	for _, path := range paths {
		hops, why := c.hops(path)
		if why != "" {
			return why
		}
		along = append(along, hops)
	}
	c.planIngress(c.flowOf(p), "")
	for _, hops := range along {
		c.planBehind(c.flowOf(p), hops, "the shortest paths from "+p.Ingress)
	}
	return ""
}

// steerWithin is for a pair behind one router: there is no path, only the port where its packets wait.
func (c *compiler) steerWithin(p Pair) string {
	r := c.routers[p.Ingress]
	if !r.Managed {
		return fmt.Sprintf("its router %s is not managed", p.Ingress)
	}
	c.planIngress(c.flowOf(p), "")
	for _, port := range c.destinationPorts(r, p.Dst) {
		c.onPath(r.Name, port)
	}
	return ""
}

// hops resolves the path's links.
func (c *compiler) hops(path Path) ([]Link, string) {
	if len(path.Links) == 0 {
		return nil, "the path has no links"
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

// onPath gives a port on a pair's path the queues, where the policy schedules no other ports.
func (c *compiler) onPath(router string, i Interface) {
	if c.in.Policy.Ports == document.PortsPath {
		c.draft(router).port(i)
	}
}

// planIngress puts the flow's rule where customers are attached. Every link may be the way out, after a failure too.
func (c *compiler) planIngress(f flow, lsp string) {
	r := c.routers[f.ingress]
	if !r.Managed {
		return
	}
	dr := c.draft(r.Name)
	dr.redirect(f.rule, lsp, c.customerPorts(r))
	if f.ingress != f.egress {
		for port := range c.core[r.Name] {
			c.onPath(r.Name, c.iface(r, port))
		}
	}
	if lsp == "" {
		dr.reason(fmt.Sprintf("pairs to %s enter here, on the path they are on", f.egress))
	}
}

// planBehind is for the routers behind the ingress: rules where a link arrives, queues where the next one leaves.
func (c *compiler) planBehind(f flow, hops []Link, along string) {
	for i, in := range hops {
		r := c.routers[in.To]
		if !r.Managed {
			continue
		}
		dr := c.draft(r.Name)
		dr.classify(f.rule, in.Ingress)
		if i+1 < len(hops) {
			c.onPath(r.Name, c.iface(r, hops[i+1].Egress))
			dr.reason(fmt.Sprintf("transit of %s to %s", along, f.egress))
			continue
		}
		// The packets keep their queue on the last port too, the one the destination is behind.
		for _, port := range c.destinationPorts(r, f.rule.Match.Dst) {
			c.onPath(r.Name, port)
		}
		dr.reason("egress of " + along)
	}
}

// takesPart is whether a router gets classes and policers: with ports: path only those that have queues.
func (c *compiler) takesPart(r Router) bool {
	if c.in.Policy.Ports == document.PortsPath {
		return r.Managed && c.drafts[r.Name] != nil
	}
	return r.Managed
}
