package admit

import (
	"errors"
	"slices"

	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/paths/cspf"
	"github.com/millrace/millrace/services/paths/disjoint"
	"github.com/millrace/millrace/services/paths/graph"
)

// maxFirst is how many first paths are tried for a path and a backup of bounded delay.
const maxFirst = 1000

// maxPinnedFirst is how many with a bound on segments: each makes a search list up to cspf.DefaultLists second ones.
const maxPinnedFirst = 64

// route is what a search has found.
type route struct {
	path, backup []int32
	slots        []Slot
	// givenUp: nothing was found, and there may be something.
	givenUp bool
}

func (r route) found() bool { return r.path != nil }

// find looks for what is asked.
func (a *ask) find() route {
	if a.Bytes > 0 {
		return a.volume(a.Bytes * 8)
	}
	r := a.best()
	r.slots = []Slot{{Window: a.Window, Rate: a.Rate}}
	return r
}

// best is what fixed finds for the request's own window and rate. One path is for services/paths/cspf, which looks at
// fewer links.
func (a *ask) best() route {
	if a.Protect != Unprotected {
		return a.pair(a.roomy(a.Window, a.Rate))
	}
	q := a.request()
	q.WithoutLinks, q.Rate = a.without(), a.Rate
	q.Free = func(l int32) int64 { return a.free(l, a.Window) }
	return a.only(&q)
}

// request is what services/paths is asked for, but for what must not be used and what is free.
func (a *ask) request() cspf.Request {
	q := cspf.Request{From: a.from, To: a.to, Metric: a.Metric, Via: a.via, MaxLabels: maxLabels, MaxSegments: a.MaxSIDs, SIDs: a.sids}
	if a.maxDelay != noBound {
		q.MaxDelay = a.maxDelay
	}
	if a.maxHops != noHops {
		q.MaxHops = int(a.maxHops)
	}
	return q
}

// without are the links that are barred.
func (a *ask) without() (out []int32) {
	for l, barred := range a.barred {
		if barred {
			out = append(out, int32(l))
		}
	}
	return out
}

// only is a search without a reason why there is nothing.
func (a *ask) only(q *cspf.Request) route {
	p, err := a.workspace.FindOnly(a.graph, q)
	if err != nil {
		return route{givenUp: errors.Is(err, cspf.ErrUndecided)}
	}
	return route{path: slices.Clone(p.Links)}
}

// fixed looks for a path, and a backup if one is requested, of links that fit.
func (a *ask) fixed(fits func(int32) bool) route {
	if _, ok := a.connected(fits); !ok {
		return route{}
	}
	if a.Protect != Unprotected {
		return a.pair(fits)
	}
	return a.single(fits, a.Metric, nil)
}

// roomy reports whether a link has a rate free in a window; it looks once.
func (a *ask) roomy(w calendar.Window, rate int64) func(int32) bool {
	known := make([]int8, a.graph.Links())
	return func(l int32) bool {
		if known[l] == 0 {
			known[l] = 1
			if a.free(l, w) >= rate {
				known[l] = 2
			}
		}
		return known[l] == 2
	}
}

// anyRoom takes every link for free.
func anyRoom(int32) bool { return true }

// over is a search for paths of links that fit.
func (a *ask) over(fits func(int32) bool, m graph.Metric) *search {
	s := a.search(a.graph.Weights(m))
	s.extend = func(_ []piece, l int32) ([]piece, bool) { return nil, fits(l) }
	return &s
}

// single is the best path by a metric without the links that are barred besides.
func (a *ask) single(fits func(int32) bool, m graph.Metric, barred []bool) route {
	q := a.request()
	q.Metric, q.WithoutLinks, q.Rate = m, a.without(), 1
	q.Free = func(l int32) int64 {
		if barred != nil && barred[l] || !fits(l) {
			return 0
		}
		return 1
	}
	return a.only(&q)
}

// pair looks for a path and a backup. Without bounds it is the pair of the least cost. With one it is that pair if it
// is within them, else the fastest, else the one of the fewest links, else the first path, in the order of cost, that
// leaves a second one. Where the path has loose hops it is the latter at once.
func (a *ask) pair(fits func(int32) bool) route {
	if len(a.via) > 0 {
		return a.everyPair(fits)
	}
	for _, by := range []struct {
		metric graph.Metric
		bounds bool
	}{{a.Metric, true}, {graph.Delay, a.maxDelay != noBound}, {graph.Hops, a.maxHops != noHops}} {
		if !by.bounds {
			continue
		}
		if r := a.disjoint(fits, by.metric); !r.found() || a.within(r) {
			return r
		}
	}
	return a.everyPair(fits)
}

// disjoint is the pair of the least sum of a metric, whatever its delay.
func (a *ask) disjoint(fits func(int32) bool, m graph.Metric) route {
	usable := make([]bool, a.graph.Links())
	for l := range usable {
		_, known := a.delay(int32(l))
		usable[l] = !a.barred[l] && known && fits(int32(l))
	}
	p, err := a.pairs.Find(a.graph, &disjoint.Request{
		From: a.from, To: a.to, Metric: m, Kind: kinds[a.Protect], Usable: usable, MaxPaths: maxFirst,
	})
	if err != nil {
		return route{givenUp: errors.Is(err, disjoint.ErrUndecided)}
	}
	return route{path: slices.Clone(p.First), backup: slices.Clone(p.Second)}
}

// kinds are what services/paths/disjoint calls the protections.
var kinds = [...]disjoint.Kind{LinkDisjoint: disjoint.Links, NodeDisjoint: disjoint.Nodes, RiskDisjoint: disjoint.NodesAndGroups}

// within reports whether both paths are within the bounds on delay, links and segments.
func (a *ask) within(r route) bool {
	inTime := a.maxDelay == noBound || a.sum(r.path) <= a.maxDelay && a.sum(r.backup) <= a.maxDelay
	return inTime && len(r.path) <= int(a.maxHops) && len(r.backup) <= int(a.maxHops) && a.pinned(r.path) && a.pinned(r.backup)
}

// sum of the delays of links, which are known.
func (a *ask) sum(links []int32) (delay int64) {
	for _, l := range links {
		delay += int64(a.graph.Weights(graph.Delay)[l])
	}
	return delay
}

// everyPair tries first paths in the order of cost.
func (a *ask) everyPair(fits func(int32) bool) route {
	s := a.over(fits, a.Metric)
	s.every = true
	other := *a
	other.via = nil
	var backup []int32
	tries, most, givenUp := 0, maxFirst, false
	if a.MaxSIDs > 0 {
		most = maxPinnedFirst
	}
	path := s.run(nil, func(last int32) bool {
		if tries++; !s.pins(last) {
			return tries == most
		}
		second := other.single(fits, a.Metric, a.disjointTo(s.path(last)))
		backup, givenUp = second.path, givenUp || second.givenUp
		return second.found() || tries == most
	})
	if backup == nil {
		return route{givenUp: givenUp || s.givenUp || tries == most}
	}
	return route{path: path, backup: backup}
}

// disjointTo are the links that a backup of a path does not use.
func (a *ask) disjointTo(path []int32) []bool {
	out := make([]bool, a.graph.Links())
	bar := func(links []int32) {
		for _, l := range links {
			out[l] = true
		}
	}
	bar(path)
	for _, l := range path {
		if to := a.graph.To(l); a.Protect != LinkDisjoint && to != a.to {
			bar(a.graph.In(to))
		}
		for _, group := range a.risks(l) {
			bar(a.graph.Members(group))
		}
	}
	return out
}

// risks are the groups of a link that a backup must not share.
func (a *ask) risks(l int32) []uint32 {
	if a.Protect != RiskDisjoint {
		return nil
	}
	return a.graph.Link(l).SRLGs
}

// volume looks for the cheapest path that carries so many bits within the window.
func (a *ask) volume(want int64) route {
	s := a.overTime(func() int64 { return want })
	if _, ok := a.connected(s.alone); !ok {
		return route{}
	}
	var best []Slot
	short := false
	path := s.run(a.whole(), func(last int32) bool {
		if !s.pins(last) {
			return false
		}
		var ok bool
		best, ok = fewest(slots(s.labels[last].free, a.End), want)
		short = short || !ok
		return ok
	})
	return route{path: path, slots: best, givenUp: path == nil && (s.givenUp || short)}
}

// whole is the profile of a path without links.
func (a *ask) whole() []piece { return []piece{{at: a.Start, free: a.highest()}} }

// timeSearch is a search for paths that carry so many bits at least.
type timeSearch struct {
	search
	least    func() int64
	profiles [][]piece
}

func (a *ask) overTime(least func() int64) *timeSearch {
	s := &timeSearch{search: a.search(a.graph.Weights(a.Metric)), least: least, profiles: make([][]piece, a.graph.Links())}
	// A partial path must not be passed over for one that cannot go on without a loop, or that needs more segments.
	s.every = len(a.via) > 0 || a.MaxSIDs > 0
	s.extend = func(free []piece, l int32) ([]piece, bool) {
		free = s.with(free, l)
		return free, carries(slots(free, a.End)) >= s.least()
	}
	return s
}

// with is what a partial path has free with one more link. The link's profile is made once.
func (s *timeSearch) with(free []piece, l int32) []piece {
	if s.profiles[l] == nil {
		s.profiles[l] = s.profile(l)
		s.pieces += len(s.profiles[l])
	}
	free = lower(free, s.profiles[l])
	s.pieces += len(free)
	return free
}

// alone reports whether a link carries enough by itself.
func (s *timeSearch) alone(l int32) bool { return s.lacks(l, s.least()) <= 0 }

// mostVolume is the most bits that a path carries within the window, in MaxSlots slots.
func (a *ask) mostVolume() (most int64, givenUp bool) {
	s := a.overTime(func() int64 { return most + 1 })
	s.run(a.whole(), func(last int32) bool {
		if !s.pins(last) {
			return false
		}
		most = max(most, carries(largest(slots(s.labels[last].free, a.End))))
		return false
	})
	return most, s.givenUp
}

// inTheWay are links that do not fit, of which every path that the request allows uses one, if there are none that fit:
// a cut, or, where a bound on delay or the lack of a backup is in the way as well, all to which links that fit lead.
func (a *ask) inTheWay(fits func(int32) bool) []int32 {
	if cut, ok := a.connected(fits); !ok {
		return cut
	}
	var out []int32
	_, ends := a.sides()
	for len(ends.queue) > 0 {
		ends.step(func(l int32) bool { return !a.barred[l] })
	}
	either := *a
	if a.Protect != Unprotected {
		either.via = nil // the backup need not pass them
	}
	s := either.over(func(l int32) bool {
		fit := fits(l)
		if !fit && ends.seen[a.graph.To(l)] {
			out = append(out, l)
		}
		return fit
	}, graph.IGP)
	s.run(nil, func(int32) bool { return false })
	slices.Sort(out)
	return slices.Compact(out)
}
