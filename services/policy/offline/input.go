package offline

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
)

// Finder knows the network's paths. An error is the reason why there is none.
type Finder interface {
	// PrefixOwners lists the routers that originate a prefix, by the longest match.
	PrefixOwners(netip.Prefix) []string
	Path(compile.Demand) (compile.Path, error)
	// ECMP lists the IGP's equal-cost shortest paths.
	ECMP(compile.RouterPair) ([]compile.Path, error)
	// Set are several paths with a bandwidth together.
	Set(compile.Demand) ([]compile.Weighted, error)
	// Segments is the path of links, with the segments that pin it.
	Segments(links []string) (compile.Path, error)
}

// Input is what the compiler needs. The finder gives what the file does not say; nil: nothing more.
func (n *Network) Input(p document.Policy, find Finder) compile.Input {
	in := compile.Input{
		Policy: p, Routers: n.routers(), Links: n.links(),
		Paths: map[compile.Demand]compile.Path{}, NoPath: map[compile.Demand]string{}, Sets: map[compile.Demand][]compile.Weighted{},
		ECMP: map[compile.RouterPair][]compile.Path{}, Unreachable: map[compile.RouterPair]string{},
	}
	for _, pair := range n.pairs(p) {
		in.Pairs = append(in.Pairs, n.mapPair(pair, find)...)
	}
	n.answer(&in, find)
	for _, s := range n.Splits {
		in.Splits = append(in.Splits, compile.Split(s))
	}
	for _, c := range n.Circuits {
		in.Circuits = append(in.Circuits, n.circuit(c, find))
	}
	return in
}

// pairs are those of the policy, mapped as the file says, and those of the file as the alpha pairs.
func (n *Network) pairs(p document.Policy) []compile.Pair {
	out := compile.Between(p)
	byHand := len(out)
	for _, pair := range n.Pairs {
		i := slices.IndexFunc(out[:byHand], func(b compile.Pair) bool { return b.Src == pair.Src && b.Dst == pair.Dst })
		switch {
		case i >= 0:
			out[i].Ingress, out[i].Egress, out[i].Unmapped = pair.Ingress, pair.Egress, pair.Unmapped
		case compile.AlphaRedirect(p) >= 0:
			rule, why := compile.AlphaRule(p, pair.tags())
			out = append(out, compile.Pair{
				ID: pair.ID, Src: pair.Src, Dst: pair.Dst, Ingress: pair.Ingress, Egress: pair.Egress, Unmapped: cmp.Or(pair.Unmapped, why), Redirect: rule,
			})
		}
	}
	return out
}

// tags are those of the file, as parts of 100.
func (p Pair) tags() compile.Tags {
	t := compile.Tags{Sent: 100}
	for _, name := range slices.Sorted(maps.Keys(p.Tags)) {
		community, activity, _ := strings.Cut(name, "/")
		t.Of = append(t.Of, compile.Tag{Community: community, Activity: activity, Bytes: uint64(p.Tags[name])})
	}
	return t
}

// mapPair maps a pair to the routers that originate its prefixes: one pair for each that originates the source.
func (n *Network) mapPair(p compile.Pair, find Finder) []compile.Pair {
	if p.Unmapped != "" || find == nil {
		return []compile.Pair{p}
	}
	ingresses := []string{p.Ingress}
	if p.Ingress == "" {
		ingresses = find.PrefixOwners(p.Src)
	}
	if len(ingresses) == 0 {
		p.Unmapped = fmt.Sprintf("no router originates %s", p.Src)
		return []compile.Pair{p}
	}
	var out []compile.Pair
	for _, ingress := range ingresses {
		mapped := p
		mapped.Ingress = ingress
		if mapped.Egress == "" {
			if mapped.Egress = n.nearest(ingress, find.PrefixOwners(p.Dst), find); mapped.Egress == "" {
				mapped.Unmapped = fmt.Sprintf("no router originates %s", p.Dst)
			}
		}
		out = append(out, mapped)
	}
	return out
}

// nearest of several egress routers is the ingress itself, or the one with the least cost on the IGP's paths, as in a
// plan for the live network.
func (n *Network) nearest(from string, to []string, find Finder) string {
	best, least := "", uint64(0)
	for _, name := range to {
		if name == from {
			return from
		}
		paths, err := find.ECMP(compile.RouterPair{From: from, To: name})
		if err != nil {
			continue
		}
		if cost := n.cost(paths[0]); best == "" || cost < least || cost == least && name < best {
			best, least = name, cost
		}
	}
	if best == "" && len(to) > 0 {
		return to[0]
	}
	return best
}

func (n *Network) cost(p compile.Path) (sum uint64) {
	for _, l := range n.Links {
		if slices.Contains(p.Links, l.ID) {
			sum += uint64(l.Metric)
		}
	}
	return sum
}

func (n *Network) answer(in *compile.Input, find Finder) {
	for _, d := range compile.Demands(in.Policy, in.Pairs) {
		for _, p := range n.Paths {
			switch {
			case p.From != d.From || p.To != d.To || d.Via != "" && !slices.Equal(p.Nodes, d.Routers()):
			case d.LSP.Set():
				in.Sets[d] = append(in.Sets[d], compile.Weighted{Path: p.compiled(), Weight: max(p.Weight, 1), Bandwidth: p.Bottleneck})
			default:
				in.Paths[d] = p.compiled()
			}
		}
		for _, none := range n.NoPath {
			if none.From == d.From && none.To == d.To {
				in.NoPath[d] = none.Why
			}
		}
		if _, known := in.Paths[d]; known || len(in.Sets[d]) > 0 || find == nil {
			continue
		}
		var err error
		if d.LSP.Set() {
			in.Sets[d], err = find.Set(d)
		} else {
			in.Paths[d], err = find.Path(d)
		}
		if err != nil {
			delete(in.Paths, d)
			in.NoPath[d] = cmp.Or(in.NoPath[d], err.Error())
		}
	}
	for _, e := range compile.RouterPairs(in.Policy, in.Pairs) {
		for _, p := range n.ECMP {
			if p.From == e.From && p.To == e.To {
				in.ECMP[e] = append(in.ECMP[e], p.compiled())
			}
		}
		if len(in.ECMP[e]) > 0 || find == nil {
			continue
		}
		paths, err := find.ECMP(e)
		if err != nil {
			in.Unreachable[e] = err.Error()
			continue
		}
		in.ECMP[e] = paths
	}
}

func (p Path) compiled() compile.Path {
	return compile.Path{Nodes: p.Nodes, Links: p.Links, Segments: p.Segments, Adjacencies: p.Adjacencies, Bottleneck: p.Bottleneck, Reason: p.Reason}
}

func (n *Network) circuit(c Circuit, find Finder) compile.Circuit {
	out := compile.Circuit{ID: c.ID, Rate: c.Rate, Profile: c.Rate, Excess: c.Excess, From: c.From, Until: c.Until, Path: compile.Path{Links: c.Links, Segments: c.Segments}}
	for _, t := range c.Traffic {
		out.Matches = append(out.Matches, compile.Match{Src: t.Src, Dst: t.Dst, Protocol: t.Protocol, SrcPort: t.SourcePort, DstPort: t.DestinationPort})
	}
	for i, id := range c.Links {
		at := slices.IndexFunc(n.Links, func(l Link) bool { return l.ID == id })
		if at < 0 {
			out.Unmapped = fmt.Sprintf("there is no link %q in the file", id)
			return out
		}
		if i == 0 {
			out.Path.Nodes = append(out.Path.Nodes, n.Links[at].From)
		}
		out.Path.Nodes = append(out.Path.Nodes, n.Links[at].To)
	}
	if len(c.Segments) == 0 && find != nil {
		pinned, err := find.Segments(c.Links)
		if err != nil {
			out.Unmapped = err.Error()
		}
		out.Path.Segments, out.Path.Adjacencies = pinned.Segments, pinned.Adjacencies
	}
	return out
}
