package compute

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/topo"
	"github.com/millrace/millrace/internal/units"
)

func sameEnds(n *topo.Node) error {
	return fmt.Errorf("both ends are %s; name two different routers", n.Label())
}

func unreachable(from, to *topo.Node) error {
	return fmt.Errorf("%w: no chain of two-way adjacencies leads from %s to %s", ErrNoPath, from.Label(), to.Label())
}

// explain lifts the constraints one after another, and blames the first whose
// absence makes a path.
func (s *search) explain() error {
	any := func(*topo.Link) bool { return true }
	free := s.run(any)
	if free == nil {
		return unreachable(s.r.From, s.r.To)
	}
	kept := s.run(s.allowed)
	if kept == nil {
		return s.blameExclusions(free)
	}
	wide := s.run(func(l *topo.Link) bool { return s.allowed(l) && s.wide(l) })
	if wide == nil {
		return s.blameBandwidth()
	}
	onward := s.run(func(l *topo.Link) bool { return s.allowed(l) && s.wide(l) && s.onward(l) })
	if onward == nil {
		return newPath(s.g, s.r.From, wide).passed(s.g)
	}
	return s.blameSegments(onward)
}

func (s *search) blameExclusions(free []*topo.Link) error {
	var hit []string
	for _, l := range free {
		switch {
		case s.links[l.ID]:
			hit = append(hit, "link "+l.ID)
		case s.nodes[l.To]:
			hit = append(hit, "router "+s.g.Node(l.To).Label())
		case s.nodes[l.From]:
			hit = append(hit, "router "+s.g.Node(l.From).Label())
		}
	}
	return fmt.Errorf("%w from %s to %s without what is excluded; %s would need %s",
		ErrNoPath, s.r.From.Label(), s.r.To.Label(), describe(newPath(s.g, s.r.From, free)), strings.Join(dedup(hit), ", "))
}

// blameBandwidth names the narrowest link of the widest path, and how much it lacks.
func (s *search) blameBandwidth() error {
	links := s.widest()
	narrow := links[0]
	for _, l := range links {
		if l.Bandwidth < narrow.Bandwidth {
			narrow = l
		}
	}
	lacks := units.Rate(s.r.MinBandwidth-narrow.Bandwidth).String() + " short"
	if narrow.Bandwidth == 0 {
		lacks = "of unknown bandwidth"
	}
	return fmt.Errorf("%w of %s from %s to %s; on the widest, %s, link %s (%s to %s) is %s",
		ErrNoPath, units.Rate(s.r.MinBandwidth), s.r.From.Label(), s.r.To.Label(),
		describe(newPath(s.g, s.r.From, links)), narrow.ID,
		s.g.Node(narrow.From).Label(), s.g.Node(narrow.To).Label(), lacks)
}

// widest raises the bar from link to link: the last path found is the widest.
func (s *search) widest() []*topo.Link {
	links := s.run(s.allowed)
	for {
		bottleneck := newPath(s.g, s.r.From, links).Bottleneck
		wider := s.run(func(l *topo.Link) bool { return s.allowed(l) && l.Bandwidth > bottleneck })
		if wider == nil {
			return links
		}
		links = wider
	}
}

func (s *search) blameSegments(links []*topo.Link) error {
	p := newPath(s.g, s.r.From, links)
	return fmt.Errorf("path %s exists, but no list of SIDs can pin it: %w", describe(p), p.pin(s.g))
}

// reason says what was asked and what came of it.
func (s *search) reason(p *Path) string {
	parts := []string{fmt.Sprintf("%s, IGP cost %d", describe(p), p.Cost)}
	if shared := s.shared(p); s.r.AvoidShortest {
		parts = append(parts, s.avoided(p, shared))
	} else if best := s.tree.Cost[s.r.To.ID]; p.Cost == best {
		parts = append(parts, "a shortest path")
	} else {
		parts = append(parts, fmt.Sprintf("the shortest path costs %d and %s", best, s.passedOver()))
	}
	if s.r.MinBandwidth > 0 {
		parts = append(parts, fmt.Sprintf("every link carries at least %s", units.Rate(s.r.MinBandwidth)))
	}
	if n := len(s.r.ExcludeNodes) + len(s.r.ExcludeLinks); n > 0 {
		parts = append(parts, fmt.Sprintf("excluded by request: %d routers and links", n))
	}
	return strings.Join(parts, "; ")
}

// passedOver is why the shortest path was not taken.
func (s *search) passedOver() string {
	first, _ := s.tree.Paths(s.r.To.ID, 1)
	if slices.ContainsFunc(first[0], outOfTransit) {
		return "is over a router that is taken out of transit"
	}
	return "does not meet the constraints"
}

// shared counts the path's links that the IGP uses between the ends too.
func (s *search) shared(p *Path) int {
	n := 0
	for _, l := range p.Links {
		if s.shortest[l.ID] {
			n++
		}
	}
	return n
}

func (s *search) avoided(p *Path, shared int) string {
	first, _ := s.tree.Paths(s.r.To.ID, 1)
	igp := fmt.Sprintf("%s at cost %d", describe(newPath(s.g, s.r.From, first[0])), s.tree.Cost[s.r.To.ID])
	switch shared {
	case 0:
		return fmt.Sprintf("shares no link with the IGP's shortest (%s), which stays with the other traffic", igp)
	case len(p.Links):
		return fmt.Sprintf("there is no alternative to the links of the IGP's shortest (%s)%s", igp, s.otherThan())
	}
	return fmt.Sprintf("shares %d of %d links with the IGP's shortest (%s); no path that meets the constraints shares fewer",
		shared, len(p.Links), igp) + s.otherThan()
}

// otherThan says what was avoided before the shortest paths were.
func (s *search) otherThan() string {
	for _, n := range s.g.Nodes() {
		if slices.ContainsFunc(s.g.Out(n.ID), outOfTransit) {
			return "; links of routers that are taken out of transit come after all others"
		}
	}
	return ""
}

// describe writes a path as router names, such as wr–cr–er.
func describe(p *Path) string {
	names := make([]string, 0, len(p.Nodes))
	for _, n := range p.Nodes {
		names = append(names, n.Label())
	}
	return strings.Join(names, "–")
}

func dedup(in []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, s := range in {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}
