// Package circuit decides which alpha flows arrived within a circuit: room was booked for them, and their ingress
// router steers them by the circuit's rules, so no pair has to be remembered for them.
//
// In: circuits with the times at which they were in force, and what flows summed up to in fixed intervals. Out: the
// sums that no circuit has, and those of each circuit. Next: services/alpha/detect, which makes pairs of the former.
//
// Mutation testing: 11 of 11 killed (docs/reference/mutants.md).
package circuit

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/millrace/millrace/services/alpha/detect"
	"github.com/millrace/millrace/services/circuits/traffic"
)

// Circuit is what a flow is compared with.
type Circuit struct {
	ID string
	// Exporters are the addresses of its ingress router: only there do its rules match.
	Exporters []netip.Addr
	Traffic   []traffic.Match
	InForce   []Span
}

// Span is a time, its end not included; a zero end is none.
type Span struct{ From, To time.Time }

// Within are the sums that arrived within one circuit.
type Within struct {
	Circuit string
	Sums    []detect.Sum
}

// Split separates the sums that no circuit has from the others, which are in the order of their circuits'
// ids. Where several circuits match a sum, it belongs to the first id.
func Split(circuits []Circuit, interval time.Duration, sums []detect.Sum) (rest []detect.Sum, within []Within) {
	circuits = slices.SortedFunc(slices.Values(circuits), func(a, b Circuit) int { return cmp.Compare(a.ID, b.ID) })
	at := map[netip.Addr][]int{}
	for i, c := range circuits {
		for _, exporter := range c.Exporters {
			at[exporter] = append(at[exporter], i)
		}
	}
	of := make([][]detect.Sum, len(circuits))
	for _, s := range sums {
		mine := at[s.Exporter]
		i := slices.IndexFunc(mine, func(i int) bool { return circuits[i].has(s, interval) })
		if i < 0 {
			rest = append(rest, s)
			continue
		}
		of[mine[i]] = append(of[mine[i]], s)
	}
	for i, c := range circuits {
		if len(of[i]) > 0 {
			within = append(within, Within{c.ID, of[i]})
		}
	}
	return rest, within
}

// has: the flow is of the circuit's traffic, and its interval and a time in force have a moment in common.
func (c Circuit) has(s detect.Sum, interval time.Duration) bool {
	return slices.ContainsFunc(c.Traffic, func(m traffic.Match) bool { return m.Has(s.Flow.Src, s.Flow.Dst, s.Flow.Protocol) }) &&
		slices.ContainsFunc(c.InForce, func(w Span) bool {
			return w.From.Before(s.Start.Add(interval)) && (w.To.IsZero() || s.Start.Before(w.To))
		})
}

// State is what a circuit was from a moment on.
type State struct {
	From    time.Time
	InForce bool
}

// InForce are the times at which a circuit with this history, oldest first, was in force.
func InForce(history []State) (out []Span) {
	open := false
	for _, h := range history {
		switch {
		case h.InForce && !open:
			out = append(out, Span{From: h.From})
		case !h.InForce && open:
			out[len(out)-1].To = h.From
		}
		open = h.InForce
	}
	return out
}
