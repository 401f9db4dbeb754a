package compute

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/topo"
	"github.com/millrace/millrace/internal/units"
	"github.com/millrace/millrace/services/paths/cspf"
	"github.com/millrace/millrace/services/paths/lspset"
	"github.com/millrace/millrace/services/paths/segments"
)

// MaxSegments is the deepest segment list that the router agent programs.
const MaxSegments = 15

// SetRequest describes several explicit paths.
type SetRequest struct {
	From, To *topo.Node
	// Bandwidth in bit/s that the paths have together.
	Bandwidth uint64
	// MaxPaths is the most paths.
	MaxPaths int
	// AvoidShortest keeps off the links of the IGP's shortest paths where the others have the bandwidth.
	AvoidShortest bool
	// MaxSegments is the most segments per path; 0 is MaxSegments.
	MaxSegments  int
	ExcludeNodes []*topo.Node
	ExcludeLinks []*topo.Link
}

// SetPath is a path of a set.
type SetPath struct {
	*Path
	Weight int
	// Bandwidth is what it carries when the set carries all it can, bit/s.
	Bandwidth uint64
}

// Set finds paths that have a bandwidth together, and what they have.
func (x *Index) Set(r SetRequest) (paths []SetPath, bandwidth uint64, reason string, err error) {
	if r.From.ID == r.To.ID {
		return nil, 0, "", sameEnds(r.From)
	}
	ask := cspf.Request{
		From: x.number[r.From.ID], To: x.number[r.To.ID], Rate: int64(r.Bandwidth), SIDs: x.sids,
		MaxSegments: r.MaxSegments,
	}
	if ask.MaxSegments == 0 {
		ask.MaxSegments = MaxSegments
	}
	for _, n := range r.ExcludeNodes {
		ask.WithoutNodes = append(ask.WithoutNodes, x.number[n.ID])
	}
	for _, l := range r.ExcludeLinks {
		ask.WithoutLinks = append(ask.WithoutLinks, x.indexOf(l.ID))
	}
	for _, l := range x.dropped {
		if x.links[l].From != r.From.ID {
			ask.WithoutLinks = append(ask.WithoutLinks, l)
		}
	}
	set, avoided, err := x.set(r, ask)
	if err != nil {
		return nil, 0, "", x.refused(r, err)
	}
	for _, m := range set.Members {
		p := x.pathOf(r.From, m.Links)
		p.Reason = fmt.Sprintf("%s, IGP cost %d; weight %d of the set", describe(p), p.Cost, m.Weight)
		paths = append(paths, SetPath{Path: p, Weight: m.Weight, Bandwidth: uint64(m.Rate)})
	}
	return paths, uint64(set.Rate), x.setReason(r, paths, set, avoided), nil
}

// set looks first without the links of routers that are taken out of transit.
func (x *Index) set(r SetRequest, ask cspf.Request) (set lspset.Set, avoided bool, err error) {
	transit := ask
	transit.WithoutLinks = slices.Clone(ask.WithoutLinks)
	for l, link := range x.links {
		if outOfTransit(link) && link.From != r.From.ID {
			transit.WithoutLinks = append(transit.WithoutLinks, int32(l))
		}
	}
	if set, avoided, err = x.apart(r, transit); err == nil || len(transit.WithoutLinks) == len(ask.WithoutLinks) {
		return set, avoided, err
	}
	return x.apart(r, ask)
}

// apart looks off the shortest paths first where that is wanted.
func (x *Index) apart(r SetRequest, ask cspf.Request) (set lspset.Set, avoided bool, err error) {
	if r.AvoidShortest {
		apart := ask
		apart.WithoutLinks = slices.Clone(ask.WithoutLinks)
		for _, id := range slices.Sorted(maps.Keys(x.tree(r.From, r.To).Used(r.To.ID))) {
			apart.WithoutLinks = append(apart.WithoutLinks, x.indexOf(id))
		}
		if set, err = lspset.Find(x.g, apart, r.MaxPaths); err == nil {
			return set, true, nil
		}
	}
	set, err = lspset.Find(x.g, ask, r.MaxPaths)
	return set, false, err
}

func (x *Index) indexOf(link string) int32 {
	l, _ := x.g.LinkIndex(link)
	return l
}

// pathOf is a path with its segments; the search has looked that there are some.
func (x *Index) pathOf(from *topo.Node, numbers []int32) *Path {
	links := make([]*topo.Link, 0, len(numbers))
	for _, l := range numbers {
		links = append(links, x.links[l])
	}
	p := newPath(x.topo, from, links)
	list, _ := new(segments.Finder).List(x.g, numbers, &x.sids)
	x.write(p, list)
	return p
}

func (x *Index) setReason(r SetRequest, paths []SetPath, set lspset.Set, avoided bool) string {
	var each []string
	for _, p := range paths {
		each = append(each, fmt.Sprintf("%s carries %s (weight %d)", describe(p.Path), units.Rate(p.Bandwidth), p.Weight))
	}
	text := fmt.Sprintf("%s of %s requested: %s", units.Rate(set.Rate), units.Rate(r.Bandwidth), strings.Join(each, ", "))
	switch {
	case avoided:
		return text + "; no link of the IGP's shortest paths"
	case r.AvoidShortest:
		return text + "; without the links of the IGP's shortest paths" + x.andOfTransit() + " there is less"
	}
	return text
}

// andOfTransit says what else was left out, if anything was.
func (x *Index) andOfTransit() string {
	if slices.ContainsFunc(x.links, outOfTransit) {
		return ", and those of routers that are taken out of transit,"
	}
	return ""
}

// plain names the routers that no path passes, for people, unless it begins there.
func (x *Index) plain(from *topo.Node) string {
	var names []string
	for _, l := range x.dropped {
		if n := x.topo.Node(x.links[l].From); n.ID != from.ID {
			names = append(names, n.Label())
		}
	}
	if slices.Sort(names); len(names) == 0 {
		return ""
	}
	return "; no segment routing runs on " + strings.Join(slices.Compact(names), ", ")
}

// refused makes what the network lacks one kind of error.
func (x *Index) refused(r SetRequest, err error) error {
	var set *lspset.Refusal
	var one *cspf.Explanation
	switch {
	case errors.As(err, &set) || errors.As(err, &one):
		return fmt.Errorf("%w: %w%s", ErrNoPath, err, x.plain(r.From))
	case errors.Is(err, cspf.ErrUndecided):
		return fmt.Errorf("%w: the search from %s to %s for paths of few segments gave up, and there may be some; exclude links, or name the paths by hand (%w)",
			ErrNoPath, r.From.Label(), r.To.Label(), err)
	}
	return err
}

// Along is the path of a list of routers, as ids of links: of parallel links the one of the least cost, then the first.
func Along(g *topo.Graph, routers []string) ([]string, error) {
	var out []string
	var at *topo.Node
	for i, name := range routers {
		next, err := g.Resolve(name)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			at = next
			continue
		}
		var best *topo.Link
		for _, l := range g.Out(at.ID) {
			if l.To == next.ID && (best == nil || l.Metric < best.Metric || l.Metric == best.Metric && l.ID < best.ID) {
				best = l
			}
		}
		if best == nil {
			return nil, fmt.Errorf("%w: there is no link from %s to %s", ErrNoPath, at.Label(), next.Label())
		}
		out, at = append(out, best.ID), next
	}
	return out, nil
}
