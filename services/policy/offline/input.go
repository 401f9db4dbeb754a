package offline

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
)

// Finder knows the network's paths. An error is the reason why there is none.
type Finder interface {
	// Attached lists the routers a prefix is behind, by the longest match.
	Attached(netip.Prefix) []string
	Path(compile.Demand) (compile.Path, error)
	// Ways lists the IGP's shortest paths.
	Ways(compile.Ends) ([]compile.Path, error)
}

// Input is what the compiler needs. The finder is asked for what the file does not say; nil asks nobody.
func (n *Network) Input(p document.Policy, find Finder) compile.Input {
	in := compile.Input{
		Policy: p, Routers: n.routers(), Links: n.links(),
		Paths: map[compile.Demand]compile.Path{}, NoPath: map[compile.Demand]string{},
		Ways: map[compile.Ends][]compile.Path{}, NoWay: map[compile.Ends]string{},
	}
	for _, pair := range n.pairs(p) {
		in.Pairs = append(in.Pairs, place(pair, find)...)
	}
	n.answer(&in, find)
	return in
}

// pairs are those of the policy, with the places the file gives them, and those of the file as the alpha pairs.
func (n *Network) pairs(p document.Policy) []compile.Pair {
	out := compile.Between(p)
	byHand := len(out)
	rule := compile.AlphaRedirect(p)
	for _, pair := range n.Pairs {
		i := slices.IndexFunc(out[:byHand], func(b compile.Pair) bool { return b.Src == pair.Src && b.Dst == pair.Dst })
		switch {
		case i >= 0:
			out[i].Ingress, out[i].Egress, out[i].Unplaced = pair.Ingress, pair.Egress, pair.Unplaced
		case rule >= 0:
			out = append(out, compile.Pair{
				ID: pair.ID, Src: pair.Src, Dst: pair.Dst, Ingress: pair.Ingress, Egress: pair.Egress, Unplaced: pair.Unplaced, Redirect: rule,
			})
		}
	}
	return out
}

// place puts a pair where its prefixes are attached: one for each router the source is behind.
func place(p compile.Pair, find Finder) []compile.Pair {
	if p.Unplaced != "" || find == nil {
		return []compile.Pair{p}
	}
	ingresses := []string{p.Ingress}
	if p.Ingress == "" {
		ingresses = find.Attached(p.Src)
	}
	if len(ingresses) == 0 {
		p.Unplaced = fmt.Sprintf("no router attaches %s", p.Src)
		return []compile.Pair{p}
	}
	var out []compile.Pair
	for _, ingress := range ingresses {
		placed := p
		placed.Ingress = ingress
		if placed.Egress == "" {
			if placed.Egress = nearest(ingress, find.Attached(p.Dst), find); placed.Egress == "" {
				placed.Unplaced = fmt.Sprintf("no router attaches %s", p.Dst)
			}
		}
		out = append(out, placed)
	}
	return out
}

// nearest of several egress routers is the ingress itself, or the one with the fewest hops on the IGP's paths.
func nearest(from string, to []string, find Finder) string {
	best, hops := "", 0
	for _, name := range to {
		if name == from {
			return from
		}
		ways, err := find.Ways(compile.Ends{From: from, To: name})
		if err == nil && (best == "" || len(ways[0].Links) < hops) {
			best, hops = name, len(ways[0].Links)
		}
	}
	if best == "" && len(to) > 0 {
		return to[0]
	}
	return best
}

func (n *Network) answer(in *compile.Input, find Finder) {
	for _, d := range compile.Demands(in.Policy, in.Pairs) {
		for _, p := range n.Paths {
			if p.From == d.From && p.To == d.To {
				in.Paths[d] = p.compiled()
			}
		}
		for _, none := range n.NoPath {
			if none.From == d.From && none.To == d.To {
				in.NoPath[d] = none.Why
			}
		}
		if _, known := in.Paths[d]; known || find == nil {
			continue
		}
		path, err := find.Path(d)
		if err != nil {
			in.NoPath[d] = cmp.Or(in.NoPath[d], err.Error())
			continue
		}
		in.Paths[d] = path
	}
	for _, e := range compile.Crossings(in.Policy, in.Pairs) {
		for _, p := range n.Ways {
			if p.From == e.From && p.To == e.To {
				in.Ways[e] = append(in.Ways[e], p.compiled())
			}
		}
		if len(in.Ways[e]) > 0 || find == nil {
			continue
		}
		ways, err := find.Ways(e)
		if err != nil {
			in.NoWay[e] = err.Error()
			continue
		}
		in.Ways[e] = ways
	}
}

func (p Path) compiled() compile.Path {
	return compile.Path{Nodes: p.Nodes, Links: p.Links, Segments: p.Segments, Bottleneck: p.Bottleneck, Reason: p.Reason}
}
