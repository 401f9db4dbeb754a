package intent

import "github.com/millrace/millrace/services/routeragent/kernel"

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

type numberer struct{ old, next Numbers }

func newNumbers(old Numbers) *numberer {
	return &numberer{old: old, next: Numbers{Classes: map[string]int{}, Paths: map[string]int{}, Hits: map[string]int{}}}
}

func (n *numberer) class(queue string) (int, bool) {
	return give(n.old.Classes, n.next.Classes, queue, 1, kernel.MaxClass)
}

func (n *numberer) path(tunnel string) (int, bool) {
	return give(n.old.Paths, n.next.Paths, tunnel, 1, kernel.MaxPath)
}

func (n *numberer) hit(rule string) (int, bool) {
	return give(n.old.Hits, n.next.Hits, rule, 0, kernel.MaxHits-1)
}

// give keeps the number a name had, else takes the lowest that is neither in
// use nor was before this change: a number is not reused while what it stood
// for may still be in the kernel.
func give(old, next map[string]int, name string, low, high int) (int, bool) {
	if n, ok := next[name]; ok {
		return n, true
	}
	if n, ok := old[name]; ok {
		next[name] = n
		return n, true
	}
	used, former := map[int]bool{}, map[int]bool{}
	for _, n := range next {
		used[n] = true
	}
	for _, n := range old {
		former[n] = true
	}
	for n := low; n <= high; n++ {
		if !used[n] && !former[n] {
			next[name] = n
			return n, true
		}
	}
	return 0, false
}
