package lspset

import (
	"fmt"
	"strings"

	"github.com/millrace/millrace/internal/units"
	"github.com/millrace/millrace/services/paths/cspf"
	"github.com/millrace/millrace/services/paths/graph"
)

// Refusal says why there is no set.
type Refusal struct {
	// Most paths were allowed, and Best is the set with the greatest rate that was found.
	Most int
	Best Set
	// Limit is the greatest rate of any number of paths, bit/s, and Cut the links that bind it: all of it passes one of
	// them.
	Limit int64
	Cut   []int32

	graph   *graph.Graph
	request cspf.Request
}

// Error says what there is, what binds, and the least that would help.
func (r *Refusal) Error() string {
	name := func(n int32) string { return r.graph.Node(n).Name }
	text := fmt.Sprintf("no set of at most %d paths from %s to %s has %s: those found have %s together", r.Most,
		name(r.request.From), name(r.request.To), units.Rate(r.request.Rate), units.Rate(r.Best.Rate))
	if r.Limit < r.request.Rate {
		var links []string
		for _, l := range r.Cut {
			links = append(links, fmt.Sprintf("%s (%s to %s)", r.graph.Link(l).ID, name(r.graph.From(l)), name(r.graph.To(l))))
		}
		return text + fmt.Sprintf(", and no number of paths has more than %s, for all of it passes %s; %s less would fit",
			units.Rate(r.Limit), strings.Join(links, ", "), units.Rate(r.request.Rate-r.Best.Rate))
	}
	if len(r.Best.Members) == r.Most {
		return text + fmt.Sprintf(", and more paths have up to %s; allow more, or %s less", units.Rate(r.Limit), units.Rate(r.request.Rate-r.Best.Rate))
	}
	return text + fmt.Sprintf("; links have %s, but no path over what is left of them meets the rest of the request", units.Rate(r.Limit))
}
