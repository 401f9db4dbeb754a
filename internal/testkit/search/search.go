// Package search visits every state that a small model can reach, so that a test checks an invariant in all of them and
// not only in some.
//
// In: a first world, and what may happen in each. Out: how many there are, and the shortest trace to one that breaks an
// invariant or from which nothing ends any more. Next: the tests of services/push/rollout and services/circuits/life.
package search

import (
	"hash/maphash"
	"slices"
	"strings"
)

// Step is one thing that may happen.
type Step[W any] struct {
	Label string
	// Fault distinguishes failures from normal progress: a world must come to an end without any further
	// fault.
	Fault bool
	World W
}

// Space is a model.
type Space[W any] struct {
	// Steps are all things that may happen next.
	Steps func(W) []Step[W]
	// Key appends what distinguishes worlds that go on differently.
	Key func(w W, buf []byte) []byte
	// Broken is the invariant that a world breaks; empty for none.
	Broken func(W) string
	// Ended reports whether the modelled process has come to an end.
	Ended func(W) bool
	// Edge, if there is one, is called with every step.
	Edge func(from, to W)
}

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// visits are the worlds in the order in which they were found; two hashes of its key distinguish a world from others.
type visits[W any] struct {
	space   Space[W]
	seen    map[[2]uint64]int32
	parents []int32
	labels  []string
	queue   []W
	// ends are the worlds that have ended, goesOn the steps that are no faults, as to and from.
	ends   []int32
	goesOn [][2]int32
	buf    []byte
}

// Run visits every world that can be reached from the first, nearest first, and stops at the first violation, which is
// as the steps that lead there.
func (s Space[W]) Run(first W) (worlds int, violation string) {
	v := visits[W]{space: s, seen: map[[2]uint64]int32{}}
	v.add(first, -1, "at first")
	for at := int32(0); len(v.queue) > 0; at++ {
		w := v.queue[0]
		clear(v.queue[:1]) // or it stays in memory with the others
		v.queue = v.queue[1:]
		if s.Ended(w) {
			v.ends = append(v.ends, at)
		}
		for _, step := range s.Steps(w) {
			if broken := s.Broken(step.World); broken != "" {
				return len(v.parents), v.trace(at, step.Label, broken)
			}
			if s.Edge != nil {
				s.Edge(w, step.World)
			}
			to := v.add(step.World, at, step.Label)
			if !step.Fault {
				v.goesOn = append(v.goesOn, [2]int32{to, at})
			}
		}
	}
	return len(v.parents), v.stuck()
}

// add is the number of a world, a new one if it is not known.
func (v *visits[W]) add(w W, parent int32, label string) int32 {
	v.buf = v.space.Key(w, v.buf[:0])
	k := [2]uint64{maphash.Bytes(seeds[0], v.buf), maphash.Bytes(seeds[1], v.buf)}
	if at, known := v.seen[k]; known {
		return at
	}
	at := int32(len(v.parents))
	v.seen[k], v.parents, v.labels, v.queue = at, append(v.parents, parent), append(v.labels, label), append(v.queue, w)
	return at
}

// stuck is how the search came to a world from which nothing ends even if nothing goes wrong any more.
func (v *visits[W]) stuck() string {
	from := make([][]int32, len(v.parents))
	for _, edge := range v.goesOn {
		from[edge[0]] = append(from[edge[0]], edge[1])
	}
	out := make([]bool, len(v.parents))
	for list := v.ends; len(list) > 0; list = list[1:] {
		if at := list[0]; !out[at] {
			out[at] = true
			list = append(list, from[at]...)
		}
	}
	if at := slices.Index(out, false); at >= 0 {
		return v.trace(int32(at), "", "no way out")
	}
	return ""
}

// trace is how the search came to a violation.
func (v *visits[W]) trace(at int32, last, broken string) string {
	lines := []string{"=> " + broken, last}
	for ; at >= 0; at = v.parents[at] {
		lines = append(lines, v.labels[at])
	}
	slices.Reverse(lines)
	return strings.Join(lines, "\n")
}
