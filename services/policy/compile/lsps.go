package compile

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/millrace/millrace/services/policy/document"
)

// weighted are the paths of a pair's LSPs, or why it has none.
func (c *compiler) weighted(p Pair) ([]Weighted, string) {
	rule := c.redirect(p)
	demands := demandsOf(c.in.Policy, p)
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
		case !ok && d.LSP.Set():
			return nil, c.noSet(p, d)
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

// noSet is why there are no paths that together have what the queue's share needs.
func (c *compiler) noSet(p Pair, d Demand) string {
	q, _ := c.in.Policy.QueueAtLeast(c.redirect(p).Queue)
	return fmt.Sprintf("%s; queue %s has %d %% of it, which is to be min_bandwidth %s",
		cmp.Or(c.in.NoPath[d], fmt.Sprintf("no paths from %s to %s have %s together", d.From, d.To, d.Bandwidth)), q.Name, q.Weight, d.LSP.MinBandwidth)
}

// checkShare is the guard rail that needs the network: the queue must
// guarantee what the policy says an alpha flow is worth.
func (c *compiler) checkShare(p Pair, paths []Weighted) {
	lsp := c.redirect(p).LSP
	if lsp == nil {
		return // paths by hand name no rate
	}
	q, _ := c.in.Policy.QueueAtLeast(c.redirect(p).Queue)
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
	return c.draft(p.Ingress).set(SetName(c.in.Policy, p), set)
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

// SetName stays when paths, weights and other pairs come and go, so that flows on the paths that stay keep to them: it
// is the seed by which routers put flows on paths. It is the rule's; of rules that differ in weights alone each has a
// number.
func SetName(policy document.Policy, p Pair) string {
	rule, number := policy.Redirect[p.Redirect], 0
	paths := pathsWanted(rule)
	for _, before := range policy.Redirect[:p.Redirect] {
		if pathsWanted(before) != paths {
			continue
		}
		if weights(before) == weights(rule) {
			break
		}
		number++
	}
	sum := sha256.Sum256(fmt.Append(nil, paths, number))
	return fmt.Sprintf("te-set-%s-%s", endsText(p.Ingress, p.Egress), hex.EncodeToString(sum[:3]))
}

// pathsWanted is what a rule says of its paths, but for their weights and order.
func pathsWanted(rule document.Redirect) string {
	if rule.LSP != nil {
		return fmt.Sprintf("%s %+v", rule.Queue, *rule.LSP)
	}
	var list []string
	for _, e := range rule.LSPs {
		list = append(list, strings.Join(e.Via, " "))
	}
	slices.Sort(list)
	return fmt.Sprintf("%s %q", rule.Queue, list)
}

// weights are those of a rule's paths by hand.
func weights(rule document.Redirect) string {
	var list []string
	for _, e := range rule.LSPs {
		list = append(list, fmt.Sprint(strings.Join(e.Via, " "), e.Share()))
	}
	slices.Sort(list)
	return fmt.Sprint(list)
}

// set adds a set and returns its name. Where the hashes of two rules are the same, one gets a number behind it.
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
