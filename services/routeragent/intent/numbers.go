package intent

import (
	"maps"

	"github.com/millrace/millrace/services/routeragent/kernel"
)

// Numbers are the small integers that stand for names in the kernel. They are
// kept with the running configuration, because marks, tables and counters
// outlive a change.
type Numbers struct {
	// Classes by queue, 1 to kernel.MaxClass.
	Classes map[string]int `json:"classes"`
	// Paths by tunnel, 1 to kernel.MaxPath.
	Paths map[string]int `json:"paths"`
	// Hits by policy and sequence.
	Hits map[string]int `json:"hits"`
}

func (n Numbers) clone() Numbers {
	return Numbers{Classes: maps.Clone(n.Classes), Paths: maps.Clone(n.Paths), Hits: maps.Clone(n.Hits)}
}

func (n Numbers) equal(m Numbers) bool {
	return maps.Equal(n.Classes, m.Classes) && maps.Equal(n.Paths, m.Paths) && maps.Equal(n.Hits, m.Hits)
}

type numberer struct {
	old, next Numbers
	// taken numbers per kind: in use, or in use before this change.
	classes, paths, hits pool
}

// pool gives out the lowest number that is free; low moves up past what is taken.
type pool struct {
	taken     map[int]bool
	low, high int
}

func newPool(old map[string]int, low, high int) pool {
	p := pool{taken: map[int]bool{}, low: low, high: high}
	for _, n := range old {
		p.taken[n] = true
	}
	return p
}

func newNumbers(old Numbers) *numberer {
	return &numberer{
		old: old, next: Numbers{Classes: map[string]int{}, Paths: map[string]int{}, Hits: map[string]int{}},
		classes: newPool(old.Classes, 1, kernel.MaxClass), paths: newPool(old.Paths, 1, kernel.MaxPath), hits: newPool(old.Hits, 0, kernel.MaxHits-1),
	}
}

func (n *numberer) class(queue string) (int, bool) {
	return n.classes.give(n.old.Classes, n.next.Classes, queue)
}

func (n *numberer) path(tunnel string) (int, bool) {
	return n.paths.give(n.old.Paths, n.next.Paths, tunnel)
}

func (n *numberer) hit(rule string) (int, bool) {
	return n.hits.give(n.old.Hits, n.next.Hits, rule)
}

// give keeps the number a name had, else takes the lowest that is neither in
// use nor was before this change: a number is not reused while what it stood
// for may still be in the kernel.
func (p *pool) give(old, next map[string]int, name string) (int, bool) {
	if n, ok := next[name]; ok {
		return n, true
	}
	if n, ok := old[name]; ok {
		next[name] = n
		return n, true
	}
	for p.taken[p.low] {
		p.low++
	}
	if p.low > p.high {
		return 0, false
	}
	p.taken[p.low] = true
	next[name] = p.low
	return p.low, true
}
