package intent

import (
	"maps"

	"github.com/millrace/millrace/services/routeragent/kernel"
)

// IDs are the small integers that stand for names in the kernel. They are kept
// with the running configuration, because marks, tables and counters outlive a
// change.
type IDs struct {
	// Classes by queue, 1 to kernel.MaxClass.
	Classes map[string]int `json:"classes"`
	// Paths by tunnel, 1 to kernel.MaxPath.
	Paths map[string]int `json:"paths"`
	// Counters are indexes of rule counters by policy and sequence; "hits" is their name in the journal.
	Counters map[string]int `json:"hits"`
	// Policers that rules name, by scheduler policy, 1 to kernel.MaxPolicers.
	Policers map[string]int `json:"policers,omitempty"`
}

func (n IDs) clone() IDs {
	return IDs{Classes: maps.Clone(n.Classes), Paths: maps.Clone(n.Paths), Counters: maps.Clone(n.Counters), Policers: maps.Clone(n.Policers)}
}

func (n IDs) equal(m IDs) bool {
	return maps.Equal(n.Classes, m.Classes) && maps.Equal(n.Paths, m.Paths) && maps.Equal(n.Counters, m.Counters) && maps.Equal(n.Policers, m.Policers)
}

// allocator allocates IDs: names keep the ID they had, new names get a free one.
type allocator struct {
	old, next                          IDs
	classes, paths, counters, policers pool
}

// pool allocates the lowest free ID. An ID is taken if it is in use or was in use before this change.
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

func newAllocator(old IDs) *allocator {
	return &allocator{
		old: old, next: IDs{Classes: map[string]int{}, Paths: map[string]int{}, Counters: map[string]int{}, Policers: map[string]int{}},
		classes:  newPool(old.Classes, 1, kernel.MaxClass),
		paths:    newPool(old.Paths, 1, kernel.MaxPath),
		counters: newPool(old.Counters, 0, kernel.MaxRuleCounters-1),
		policers: newPool(old.Policers, 1, kernel.MaxPolicers),
	}
}

func (a *allocator) class(queue string) (int, bool) {
	return a.classes.allocate(a.old.Classes, a.next.Classes, queue)
}

func (a *allocator) path(tunnel string) (int, bool) {
	return a.paths.allocate(a.old.Paths, a.next.Paths, tunnel)
}

func (a *allocator) counter(rule string) (int, bool) {
	return a.counters.allocate(a.old.Counters, a.next.Counters, rule)
}

func (a *allocator) policer(policy string) (int, bool) {
	return a.policers.allocate(a.old.Policers, a.next.Policers, policy)
}

// allocate keeps the ID a name had, else takes the lowest that is free. An ID is not reused in the change that frees
// it: until packets are switched over they follow the object that it stood for, and what is new stands beside that. FRR
// could not make one of the other either, because it never changes the name of an SR policy's path.
func (p *pool) allocate(old, next map[string]int, name string) (int, bool) {
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
