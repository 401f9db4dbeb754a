package admit

import (
	"fmt"
	"math"
	"slices"

	"github.com/millrace/millrace/services/paths/graph"
)

// PathTerms is what a request wants of its path, beside room, delay and exclusions. Its zero value wants nothing.
type PathTerms struct {
	// Metric is that of which the path has the least sum. By delay, no link of unknown delay is used.
	Metric graph.Metric
	// IncludeAny wants links with at least one of the bits, IncludeAll with all, Exclude with none (RFC 3209, section
	// 4.7.4). Of the path, and of the backup.
	IncludeAny, IncludeAll, Exclude uint64
	// ExcludeRiskGroups are shared risk link groups (RFC 4203, section 1.3). Path and backup use no link of them.
	ExcludeRiskGroups []uint32
	// Via are ids of routers that the path passes, in this order (loose hops). The backup need not.
	Via []string
	// MaxHops is the most links of the path, and of the backup; 0: no bound.
	MaxHops int
	// MaxSIDs is the longest segment list that may be needed to pin the path, and the backup (RFC 8491, maximum SID
	// depth); 0: no bound.
	MaxSIDs int
}

// Bounds of a PathTerms.
const (
	// MaxVia is the most loose hops.
	MaxVia = 8
	// MaxHops is the largest bound on links.
	MaxHops = 255
	// MaxSIDs is the largest bound on segments.
	MaxSIDs = 255
)

// noHops is a bound that no path reaches.
const noHops = math.MaxInt32

// check says which field means nothing, and why; "" if all do.
func (w *PathTerms) check() (field, reason string) {
	switch {
	case w.Metric > graph.Hops:
		return "metric", "it is IGP, TE, delay or hops"
	case w.Exclude&w.IncludeAll != 0:
		return "exclude", fmt.Sprintf("no link has the groups %d and has them not; include_all has them too", Groups(w.Exclude&w.IncludeAll))
	case w.IncludeAny != 0 && w.IncludeAny&^w.Exclude == 0:
		return "include_any", fmt.Sprintf("of the groups %d exclude has all", Groups(w.IncludeAny))
	case len(w.ExcludeRiskGroups) > MaxNames:
		return "exclude_risk_groups", fmt.Sprintf("%d are more than %d", len(w.ExcludeRiskGroups), MaxNames)
	case len(w.Via) > MaxVia:
		return "via", fmt.Sprintf("%d loose hops are more than %d", len(w.Via), MaxVia)
	case w.MaxHops < 0 || w.MaxHops > MaxHops:
		return "max_hops", fmt.Sprintf("%d are not between 0, for any number, and %d", w.MaxHops, MaxHops)
	case w.MaxSIDs < 0 || w.MaxSIDs > MaxSIDs:
		return "max_sids", fmt.Sprintf("%d are not between 0, for any number, and %d", w.MaxSIDs, MaxSIDs)
	case w.MaxHops > 0 && w.MaxHops <= len(w.Via):
		return "max_hops", fmt.Sprintf("a path by %d loose hops has %d links at least", len(w.Via), len(w.Via)+1)
	}
	return "", ""
}

// Groups are the numbers of administrative groups that have a bit.
func Groups(bits uint64) (out []int32) {
	for n := range int32(64) {
		if bits>>n&1 == 1 {
			out = append(out, n)
		}
	}
	return out
}

// GroupBits has a bit for each number from 0 to 63.
func GroupBits(numbers []int32) (bits uint64) {
	for _, n := range numbers {
		bits |= 1 << n
	}
	return bits
}

// lookVia looks the loose hops up.
func (a *ask) lookVia() *Refusal {
	if most := graph.MaxNodes/a.graph.Nodes() - 1; len(a.Via) > most {
		return badRequest("via", fmt.Sprintf("with %d routers at most %d", a.graph.Nodes(), most))
	}
	for i, id := range a.Via {
		n, ok := a.graph.NodeIndex(id)
		switch {
		case !ok:
			return badRequest("via", fmt.Sprintf("there is no router %q", id))
		case n == a.from || n == a.to:
			return badRequest("via", fmt.Sprintf("%s is an end of the circuit", a.graph.Node(n).Name))
		case slices.Contains(a.Via[:i], id):
			return badRequest("via", fmt.Sprintf("a path without a loop passes %s once", a.graph.Node(n).Name))
		case slices.Contains(a.plain, n):
			return badRequest("via", fmt.Sprintf("%s runs no segment routing", a.graph.Node(n).Name))
		case slices.Contains(a.noNodes, n):
			return badRequest("via", fmt.Sprintf("%s is excluded as well", a.graph.Node(n).Name))
		}
		a.via = append(a.via, n)
	}
	return nil
}

// barRiskGroups bars the links of excluded risk groups. One that no link has bars nothing.
func (a *ask) barRiskGroups() *Refusal {
	if len(a.ExcludeRiskGroups) == 0 {
		return nil
	}
	a.risky = slices.Clone(a.excluded)
	for _, group := range a.ExcludeRiskGroups {
		for _, l := range a.graph.Members(group) {
			a.risky[l] = true
		}
	}
	a.barred = a.risky
	return nil
}

// barGroups bars links of other administrative groups.
func (a *ask) barGroups() *Refusal {
	if a.IncludeAny|a.IncludeAll|a.Exclude == 0 {
		return nil
	}
	a.barred = slices.Clone(a.risky)
	for l := range a.barred {
		bits := a.graph.Affinity(int32(l))
		meets := bits&a.Exclude == 0 && bits&a.IncludeAll == a.IncludeAll && (a.IncludeAny == 0 || bits&a.IncludeAny != 0)
		a.barred[l] = a.barred[l] || !meets
	}
	return nil
}

// timed reports whether delays must be known.
func (a *ask) timed() bool { return a.maxDelay != noBound || a.Metric == graph.Delay }

// loose is the request with nothing but its exclusions.
func (a *ask) loose() *ask {
	out := *a
	out.barred, out.via, out.maxHops, out.maxDelay, out.Metric, out.MaxSIDs = a.excluded, nil, noHops, noBound, graph.Hops, 0
	return &out
}

// pathCode is of the first kind of constraint that leaves no path, at any rate, when one is given after the other; ""
// if all of them leave one.
func (a *ask) pathCode(givenUp bool) Code {
	l := a.loose()
	for _, step := range []struct {
		code Code
		add  func()
	}{
		{NoPath, func() {}},
		{RiskGroups, func() { l.barred = a.risky }},
		{Affinity, func() { l.barred = a.barred }},
		{SearchBound, func() {}},
		{LooseHops, func() { l.via = a.via }},
		{Hops, func() { l.maxHops = a.maxHops }},
		{Latency, func() { l.maxDelay, l.Metric = a.maxDelay, a.Metric }},
		{SIDDepth, func() { l.MaxSIDs = a.MaxSIDs }},
	} {
		if step.code == SearchBound && givenUp {
			return SearchBound
		}
		step.add()
		switch r := l.single(anyRoom, l.measure(), nil); {
		case r.givenUp:
			return SearchBound
		case !r.found():
			return step.code
		}
	}
	return ""
}

// pinned reports whether few enough segments pin a path.
func (a *ask) pinned(path []int32) bool {
	if a.MaxSIDs == 0 {
		return true
	}
	count := a.segments.Count(a.graph, path, &a.sids)
	return count >= 0 && count <= a.MaxSIDs
}

// measure is the metric by which it is found out whether there is a path: by delay, links of unknown delay are none.
func (a *ask) measure() graph.Metric {
	if a.Metric == graph.Delay {
		return graph.Delay
	}
	return graph.Hops
}
