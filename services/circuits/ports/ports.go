// Package ports keeps which circuit has which VLAN of which port, over time, and how much of a port circuits have.
//
// In: what circuits have, with every change of it. Out: who has a VLAN in a window, the lowest VLAN of some that nobody
// has, a number that no circuit has. Next: services/circuits, which books it with the circuit's capacity, in one
// transaction.
//
// A port is looked through as a whole: it has some thousand circuits at most.
//
// Mutation testing: 54 of 55 killed (docs/reference/mutants.md).
package ports

import (
	"cmp"
	"slices"

	"github.com/millrace/millrace/services/circuits/calendar"
)

// MaxNumber of a circuit: routers have two addresses of a range for each.
const MaxNumber = 32_767

// Place is a port of a router.
type Place struct {
	// Router is its id.
	Router, Port string
}

// Use is what a circuit has of a port.
type Use struct {
	Place
	// VLAN is 0 for frames without a tag.
	VLAN int
	calendar.Window
	// Rate in each direction.
	Rate int64
}

// entry is a use and who has it.
type entry struct {
	Use
	id string
}

// Book is what circuits have of ports.
type Book struct {
	places  map[Place][]entry
	uses    map[string][]Use
	numbers map[int]string
	number  map[string]int
}

// NewBook is empty.
func NewBook() *Book {
	return &Book{places: map[Place][]entry{}, uses: map[string][]Use{}, numbers: map[int]string{}, number: map[string]int{}}
}

// Put says anew what a circuit has, free or not.
func (b *Book) Put(id string, number int, uses []Use) {
	b.Remove(id)
	if len(uses) == 0 {
		return
	}
	b.uses[id] = slices.Clone(uses)
	b.number[id], b.numbers[number] = number, id
	for _, u := range uses {
		b.places[u.Place] = append(b.places[u.Place], entry{u, id})
	}
}

// Remove frees what a circuit has.
func (b *Book) Remove(id string) {
	for _, u := range b.uses[id] {
		left := slices.DeleteFunc(b.places[u.Place], func(e entry) bool { return e.id == id })
		if b.places[u.Place] = left; len(left) == 0 {
			delete(b.places, u.Place)
		}
	}
	if n, has := b.number[id]; has && b.numbers[n] == id {
		delete(b.numbers, n)
	}
	delete(b.number, id)
	delete(b.uses, id)
}

// Taken is a circuit that has a VLAN, and when.
type Taken struct {
	ID string
	Use
}

// Blocking is the first circuit but one, in time and then by id, that has a VLAN of a port within a window.
func (b *Book) Blocking(u Use, but string) (first Taken, taken bool) {
	for _, e := range b.places[u.Place] {
		if e.id == but || e.VLAN != u.VLAN || e.Start >= u.End || u.Start >= e.End {
			continue
		}
		if !taken || cmp.Or(cmp.Compare(e.Start, first.Start), cmp.Compare(e.id, first.ID)) < 0 {
			first, taken = Taken{e.id, e.Use}, true
		}
	}
	return first, taken
}

// Free is the lowest VLAN of some that no circuit has on a port within a window.
func (b *Book) Free(at Place, w calendar.Window, of VLANs) (vlan int, ok bool) {
	taken := map[int]bool{}
	for _, e := range b.places[at] {
		if e.Start < w.End && w.Start < e.End {
			taken[e.VLAN] = true
		}
	}
	for v := range of.Each {
		if !taken[v] {
			return v, true
		}
	}
	return 0, false
}

// Most is the highest sum of the rates of circuits but one on a port within a window.
func (b *Book) Most(at Place, w calendar.Window, but string) (most int64) {
	for _, begin := range b.places[at] {
		var sum int64
		// The sum is highest where a circuit begins, or where the window does.
		instant := max(begin.Start, w.Start)
		for _, e := range b.places[at] {
			if e.id != but && instant < w.End && e.Start <= instant && instant < e.End {
				sum += e.Rate
			}
		}
		most = max(most, sum)
	}
	return most
}

// Number is the lowest that no circuit has.
func (b *Book) Number() (n int, ok bool) {
	for n := 1; n <= MaxNumber; n++ {
		if b.numbers[n] == "" {
			return n, true
		}
	}
	return 0, false
}
