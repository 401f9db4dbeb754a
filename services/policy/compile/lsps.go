package compile

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// weighted are the paths of a pair's LSPs, or why it has none.
func (c *compiler) weighted(p Pair) ([]Weighted, string) {
	rule := c.redirect(p)
	demands := demandsOf(p, rule)
	if len(demands) == 0 {
		first := rule.LSPs[0].Via
		return nil, fmt.Sprintf("it goes from %s to %s, and the rule's LSPs from %s to %s", p.Ingress, p.Egress, first[0], first[len(first)-1])
	}
	var out []Weighted
	for i, d := range demands {
		path, ok := c.in.Paths[d]
		switch {
		case d.LSP.Set() && len(c.in.Sets[d]) > 0:
			out = append(out, c.in.Sets[d]...)
		case !ok:
			return nil, cmp.Or(c.in.NoPath[d], fmt.Sprintf("no path from %s to %s", d.From, d.To))
		case d.Via != "":
			out = append(out, Weighted{Path: path, Weight: rule.LSPs[i].Share()})
		default:
			out = append(out, Weighted{Path: path, Weight: 1})
		}
	}
	for _, w := range out {
		if len(w.Path.Segments) == 0 {
			return nil, "the path has no segments"
		}
	}
	return out, ""
}

// checkShare is the guard rail that needs the network: the queue must
// guarantee what the policy says an alpha flow is worth.
func (c *compiler) checkShare(p Pair, paths []Weighted) {
	lsp := c.redirect(p).LSP
	if lsp == nil {
		return // paths by hand name no rate
	}
	q, _ := c.in.Policy.QueueByName(c.redirect(p).Queue)
	width := paths[0].Path.Bottleneck
	if lsp.Set() {
		width = 0
		for _, w := range paths {
			width += w.Bandwidth
		}
	}
	share := guarantee(width, q)
	if width > 0 && share < lsp.MinBandwidth && c.err == nil {
		c.err = fmt.Errorf("policy %s: queue %s guarantees %s of the %s bottleneck between %s and %s, less than min_bandwidth %s; raise its weight or lower min_bandwidth",
			c.in.Policy.Name, q.Name, share, width, p.Ingress, p.Egress, lsp.MinBandwidth)
	}
}

// planLSPs starts a pair's LSPs at their ingress and returns the name of the one, or of the set of several.
func (c *compiler) planLSPs(p Pair, paths []Weighted) string {
	set := Set{}
	for _, w := range paths {
		set.Members = append(set.Members, Member{LSP: c.planLSP(p.Ingress, p.Egress, w.Path), Weight: w.Weight})
	}
	if len(set.Members) == 1 {
		return set.Members[0].LSP
	}
	slices.SortFunc(set.Members, func(a, b Member) int { return cmp.Compare(a.LSP, b.LSP) })
	return c.draft(p.Ingress).set(SetName(p.Ingress, p.Egress, c.redirect(p).Queue), set)
}

// planLSP starts an LSP at its ingress and returns its name.
func (c *compiler) planLSP(from, to string, path Path) string {
	dr := c.draft(from)
	name := LSPName(Demand{From: from, To: to}, path)
	dr.lsps[name] = LSP{Name: name, Destination: c.destination(path), Hops: path.Segments, Adjacencies: path.Adjacencies, Reason: path.Reason}
	dr.reason(fmt.Sprintf("ingress of LSP %s (%s): %s", name, strings.Join(path.Nodes, "–"), path.Reason))
	return name
}

// destination is the last segment, or, where that is a link, the loopback of the router behind it.
func (c *compiler) destination(path Path) netip.Addr {
	last := path.Segments[len(path.Segments)-1]
	if slices.Contains(path.Adjacencies, last) {
		return c.routers[path.Nodes[len(path.Nodes)-1]].Loopback
	}
	return last
}

// SetName stays when paths come and go, so that flows on the paths that stay keep to them.
func SetName(from, to, queue string) string {
	sum := sha256.Sum256([]byte(queue))
	ends := unfit.ReplaceAllString(strings.ToLower(from+"-"+to), "-")
	return fmt.Sprintf("te-set-%s-%s", ends, hex.EncodeToString(sum[:3]))
}

// set adds a set and returns its name; one of other members under the same name gets a number behind it.
func (d *draft) set(name string, s Set) string {
	s.Name = name
	for n := 2; ; n++ {
		have, taken := d.sets[s.Name]
		if !taken || slices.Equal(have.Members, s.Members) {
			d.sets[s.Name] = s
			return s.Name
		}
		s.Name = fmt.Sprintf("%s-%d", name, n)
	}
}
