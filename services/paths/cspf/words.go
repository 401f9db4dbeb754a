package cspf

import (
	"fmt"
	"strings"

	"github.com/millrace/millrace/internal/units"
)

// String names the kinds of a set.
func (c Constraint) String() string {
	names := []string{"the rate", "the delay", "the hops", "the excluded risk groups", "the affinities", "the loose hops",
		"the excluded links", "the excluded routers", "the number of segments"}
	var out []string
	for i, name := range names {
		if c>>i&1 == 1 {
			out = append(out, name)
		}
	}
	return strings.Join(out, " and ")
}

// Error says it for people: what is in the way, and what would be enough.
func (e *Explanation) Error() string {
	return fmt.Sprintf("no path from %s to %s", e.name(e.From), e.name(e.To)) + e.Enough()
}

// Enough is the second half of Error: what would be enough.
func (e *Explanation) Enough() string {
	switch {
	case e.Disconnected:
		return ": no chain of links leads there, whatever is allowed"
	case len(e.Relaxations) > 0:
		var offers []string
		for _, r := range e.Relaxations {
			offers = append(offers, e.offer(r))
		}
		return "; there would be one " + strings.Join(offers, ", or ")
	case e.Together != 0:
		return "; no single constraint is to blame, but there would be one without " + e.Together.String()
	}
	return "; the search for a reason reached its bound"
}

func (e *Explanation) name(n int32) string { return e.graph.Node(n).Name }

// offer words one relaxation.
func (e *Explanation) offer(r Relaxation) string {
	switch r.Kind {
	case Rate:
		return fmt.Sprintf("with %s less (%s)", units.Rate(r.By), e.short(r.Short))
	case Delay:
		if r.By == 0 {
			return "if the delay were known of " + e.list(r)
		}
		return fmt.Sprintf("with %d µs more", r.By)
	case Hops:
		if r.By == 1 {
			return "with 1 hop more"
		}
		return fmt.Sprintf("with %d hops more", r.By)
	case Segments:
		if r.By == 0 {
			return "if its routers had SIDs that pin it"
		}
		return fmt.Sprintf("with %d more in the segment list", r.By)
	case SRLGs:
		return "over links of risk group " + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(r.Groups)), ", "), "[]")
	case Affinity:
		return "if the affinity of " + e.list(r) + " did not matter"
	case LooseHops:
		return "not via " + e.list(r)
	}
	return "over " + e.list(r)
}

func (e *Explanation) short(links []Shortfall) string {
	var out []string
	for _, s := range links {
		out = append(out, fmt.Sprintf("link %s has %s free", e.graph.Link(s.Link).ID, units.Rate(s.Free)))
	}
	return strings.Join(out, ", ")
}

// list names the links and routers of a relaxation.
func (e *Explanation) list(r Relaxation) string {
	var out []string
	for _, n := range r.Nodes {
		out = append(out, "router "+e.name(n))
	}
	for _, l := range r.Links {
		out = append(out, "link "+e.graph.Link(l).ID)
	}
	return strings.Join(out, ", ")
}
