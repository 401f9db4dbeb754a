package admit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/services/circuits/calendar"
)

// refuse says why nothing was found.
func (a *ask) refuse(givenUp bool) *Refusal {
	r := &Refusal{Code: a.code(givenUp)}
	if r.Code == Capacity || r.Code == SearchBound {
		a.block(r)
	}
	more := a.relax(r)
	if r.Code != NoPath {
		a.offer(r)
	}
	r.Reason = a.reason(r) + more
	return r
}

// refuseOnly is refuse without offers.
func (a *ask) refuseOnly(givenUp bool) *Refusal {
	r := &Refusal{Code: a.code(givenUp)}
	if r.Code == Capacity || r.Code == SearchBound {
		a.block(r)
	}
	more := a.relax(r)
	r.Reason = a.reason(r) + more
	return r
}

// relax lists relaxations, and says them for people where a constraint is what binds.
func (a *ask) relax(r *Refusal) string {
	if r.Code == WindowTooShort || r.Code == NoBackup || r.Code == SearchBound { // whose reason would be given up as well
		return ""
	}
	e := a.explain()
	if e == nil {
		return ""
	}
	r.Relaxations, r.undecided = a.relaxations(e), e.Undecided
	if r.Code == Capacity {
		return ""
	}
	return e.Enough()
}

// code is of the first thing that is in the way when one is given after the other: a path, one apart from risk groups,
// one of its kind, one by its loose hops, a short one, a fast one, one of few segments, a backup, time.
func (a *ask) code(givenUp bool) Code {
	if c := a.pathCode(givenUp); c != "" {
		return c
	}
	switch {
	case a.Bytes > 0 && product(a.highest(), a.End-a.Start) < a.Bytes*8:
		return WindowTooShort
	case a.Protect == Unprotected:
		return Capacity
	}
	both := a.pair(anyRoom)
	switch {
	case both.found():
		return Capacity
	case both.givenUp:
		return SearchBound
	}
	return NoBackup
}

// block lists what is missing where.
func (a *ask) block(r *Refusal) {
	if a.Bytes > 0 {
		a.blockVolume(r)
		return
	}
	for _, l := range a.inTheWay(a.roomy(a.Window, a.Rate)) {
		for w, missing := range a.links[l].Lacks(a.Window, a.Rate, a.Cap) {
			r.add(Blocker{Link: a.graph.Link(l).ID, Window: w, Shortfall: missing})
		}
	}
}

func (r *Refusal) add(b Blocker) {
	if len(r.Blockers) == MaxBlockers {
		r.Omitted++
		return
	}
	r.Blockers = append(r.Blockers, b)
}

// blockVolume lists the links that carry too little alone, if there is a cut of them, or those at which partial paths
// end because too little time is left with room on all of their links.
func (a *ask) blockVolume(r *Refusal) {
	want := a.Bytes * 8
	s := a.overTime(func() int64 { return want })
	missing := map[int32]int64{}
	cut, ok := a.connected(s.alone)
	for _, l := range cut {
		missing[l] = a.lacks(l, want)
	}
	if ok {
		missing = a.ends(s)
	}
	for l := range int32(a.graph.Links()) {
		if lacks, ok := missing[l]; ok {
			r.add(Blocker{Link: a.graph.Link(l).ID, Window: a.Window, Shortfall: (lacks-1)/(a.End-a.Start) + 1})
		}
	}
}

// ends are the links at which partial paths end, and the bits that the best of those to each lacks.
func (a *ask) ends(s *timeSearch) map[int32]int64 {
	_, back := a.sides()
	for len(back.queue) > 0 {
		back.step(func(l int32) bool { return !a.barred[l] })
	}
	missing := map[int32]int64{}
	s.every = a.MaxSIDs > 0 // or one that needs more segments could stand for it
	s.extend = func(free []piece, l int32) ([]piece, bool) {
		free = s.with(free, l)
		lacks := s.least() - carries(slots(free, a.End))
		if least, seen := missing[l]; lacks > 0 && back.seen[a.graph.To(l)] && (!seen || lacks < least) {
			missing[l] = lacks
		}
		return free, lacks <= 0
	}
	s.run(a.whole(), func(int32) bool { return false })
	return missing
}

// reason is for people, who see the blockers and offers beside it.
func (a *ask) reason(r *Refusal) string {
	way := fmt.Sprintf("from %s to %s", a.From, a.To)
	switch r.Code {
	case NoPath:
		return "no path leads " + way + " without what is excluded" + a.plainText()
	case RiskGroups:
		return "no path " + way + " is apart from the excluded risk groups"
	case Affinity:
		return "no path " + way + " is of links of these administrative groups"
	case LooseHops:
		return "no path " + way + " passes the loose hops in their order without a loop"
	case Hops:
		return fmt.Sprintf("no path %s has %d links at most", way, a.MaxHops)
	case Latency:
		if a.MaxDelay == 0 {
			return "no path " + way + " is of links whose delay is known"
		}
		return fmt.Sprintf("no path %s is within %d µs", way, a.MaxDelay)
	case SIDDepth:
		return fmt.Sprintf("no path %s is pinned by %d segments at most", way, a.MaxSIDs)
	case WindowTooShort:
		return fmt.Sprintf("%d bytes at %d bit/s take longer than %s", a.Bytes, a.Rate, span(a.Window))
	case NoBackup:
		return "no second path " + way + " is apart from a first one"
	case SearchBound:
		return "the search for a path " + way + " was given up; there may be one"
	}
	what := fmt.Sprintf("%d bit/s", a.Rate)
	if a.Bytes > 0 {
		what = fmt.Sprintf("%d bytes", a.Bytes)
	}
	var links []string
	for _, b := range r.Blockers {
		links = append(links, b.Link)
	}
	slices.Sort(links)
	return fmt.Sprintf("no path %s has room for %s %s; %d links are in the way", way, what, span(a.Window), len(slices.Compact(links)))
}

// plainText names routers that no path passes, whatever was requested.
func (a *ask) plainText() string {
	between := a.plainBetween()
	if len(between) == 0 {
		return ""
	}
	var names []string
	for _, n := range between[:min(len(between), maxNamed)] {
		names = append(names, a.graph.Node(n).Name)
	}
	if more := len(between) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return "; no segment routing runs on " + strings.Join(names, ", ")
}

// maxNamed is how many routers a reason names.
const maxNamed = 3

// lastYear is the last that RFC 3339 can write.
const lastYear = 9999

func span(w calendar.Window) string {
	from := time.Unix(w.Start, 0).UTC()
	until := time.Unix(min(w.End, 1<<40), 0).UTC()
	if until.Year() > lastYear {
		return "from " + from.Format(time.RFC3339) + " on"
	}
	return "from " + from.Format(time.RFC3339) + " until " + until.Format(time.RFC3339)
}
