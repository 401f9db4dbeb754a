package admit

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"
)

const (
	// maxChoices is how many choices are tried: some 10 ms on a network of 1,000 links.
	maxChoices = 200
	// maxQueued is how many wait to be tried: some 10 MB.
	maxQueued = 20_000
)

// price is what a choice costs: circuits by priority, then bandwidth.
type price struct {
	circuits [Priorities]int
	rate     int64
}

func (p price) compare(q price) int {
	return cmp.Or(slices.Compare(p.circuits[:], q.circuits[:]), cmp.Compare(p.rate, q.rate))
}

func (d *displacing) price(of []int) (p price) {
	for _, i := range of {
		p.circuits[d.holders[i].Priority]++
		p.rate += d.holders[i].rate
	}
	return p
}

// choice is some holders, in order.
type choice struct {
	of []int
	price
	// at is when it was found; of two that cost the same, the first is tried first.
	at int
}

// choices are those that wait to be tried, the cheapest first.
type choices []choice

// Len implements heap.Interface.
func (c choices) Len() int { return len(c) }

// Less implements heap.Interface.
func (c choices) Less(i, j int) bool {
	return cmp.Or(c[i].compare(c[j].price), cmp.Compare(c[i].at, c[j].at)) < 0
}

// Swap implements heap.Interface.
func (c choices) Swap(i, j int) { c[i], c[j] = c[j], c[i] }

// Push implements heap.Interface.
func (c *choices) Push(x any) { *c = append(*c, x.(choice)) }

// Pop implements heap.Interface.
func (c *choices) Pop() any {
	last := len(*c) - 1
	x := (*c)[last]
	*c = (*c)[:last]
	return x
}

// best is the cheapest choice, if it is cheaper than another one and the search comes to it; else nil.
//
// Choices are tried in the order of what they cost. Where one makes no room, links are known of which every path uses
// one: so each choice that has more and makes room has some circuit more on one of those links while they lack room.
// Nothing else is tried.
func (d *displacing) best(than []int) []int {
	limit := d.price(than)
	var wait choices
	known, found := map[string]bool{}, 0
	add := func(of []int) {
		c := choice{of: of, price: d.price(of), at: found}
		if name := fmt.Sprint(of); c.compare(limit) < 0 && !known[name] {
			known[name] = true
			found++
			heap.Push(&wait, c)
		}
	}
	add(nil)
	for range maxChoices {
		if len(wait) == 0 || len(wait) > maxQueued {
			break
		}
		c := heap.Pop(&wait).(choice)
		d.only(c.of)
		if d.decide(nothing, func(a *ask) {
			for _, i := range d.inTheWayOf(a) {
				more := append(slices.Clone(c.of), i)
				slices.Sort(more)
				add(more)
			}
		}) {
			return c.of
		}
	}
	return nil
}

// inTheWayOf are the holders that have something where a request lacks room, the last one that was booked first.
func (d *displacing) inTheWayOf(a *ask) (out []int) {
	lacks, bars := map[string]bool{}, make([]bool, len(d.links))
	for _, l := range a.inTheWay(a.roomy(a.Window, a.Rate)) {
		lacks[d.graph.Link(l).ID], bars[l] = true, true
	}
	for i := len(d.holders) - 1; i >= 0; i-- {
		h := d.holders[i]
		on := slices.ContainsFunc(h.scarce, func(l int32) bool { return bars[l] })
		if on && !d.gone[i] && h.Priority >= d.floor && slices.ContainsFunc(h.grants, func(g Grant) bool { return a.meets(g, lacks) }) {
			out = append(out, i)
		}
	}
	return out
}

// meets reports whether a grant has something on one of the links while that lacks room.
func (a *ask) meets(g Grant, lacks map[string]bool) bool {
	for _, id := range slices.Concat(g.Path, g.Backup) {
		if !lacks[id] {
			continue
		}
		l, _ := a.graph.LinkIndex(id)
		for w := range a.links[l].Lacks(a.Window, a.Rate, a.Cap) {
			if slices.ContainsFunc(g.Slots, func(s Slot) bool { return overlap(s.Window, w) }) {
				return true
			}
		}
	}
	return false
}
