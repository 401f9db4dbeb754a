package admit

import (
	"cmp"
	"slices"

	"github.com/millrace/millrace/services/circuits/calendar"
)

// Priorities is how many there are: 0, which is first, to 7 (RFC 3209, section 4.7.1).
const Priorities = 8

// MaxDisplaced is how many circuits one request displaces at most: all of them change in one transaction of the store.
const MaxDisplaced = 32

// Holder is a circuit that a request may displace.
type Holder struct {
	ID string
	// Names are those of its grants in the book.
	Names []string
	// Priority is its holding priority.
	Priority int64
	// Created, in any one unit, says who was first.
	Created int64
}

// Displace chooses which circuits make room for requests that find none: those whose holding priority is behind a setup
// priority. Each request is decided on beside those before it. It changes nothing; nil where no choice makes room.
//
// Of two choices the better one displaces fewer circuits of the first priority, then fewer of the second, and so on:
// priorities are what operators say about circuits, so one is never outweighed by any number of later ones (the first
// criterion of RFC 4829, section 3). Of equal ones it displaces less bandwidth. Each circuit that is displaced is
// needed: without it there is no room.
//
// The best one is found among the first maxChoices that are looked at, in order of what they cost. Beyond that it is
// one of which no circuit can be left out.
func (b *Book) Displace(requests []Request, setup int64, of []Holder) []Holder {
	d := b.displacing(requests, setup, of)
	defer d.only(nil)
	chosen := d.enough()
	if chosen == nil {
		return nil
	}
	if better := d.best(chosen); better != nil {
		chosen = better
	}
	if len(chosen) > MaxDisplaced {
		return nil
	}
	return d.named(chosen)
}

func (d *displacing) named(chosen []int) (out []Holder) {
	for _, i := range chosen {
		out = append(out, d.holders[i].Holder)
	}
	return out
}

func (b *Book) displacing(requests []Request, setup int64, of []Holder) *displacing {
	d := &displacing{Book: b, requests: requests, gone: map[int]bool{}}
	d.scarce = d.lackingAny()
	for _, h := range of {
		if h.Priority > setup {
			d.add(h)
		}
	}
	slices.SortFunc(d.holders, func(x, y holder) int {
		return cmp.Or(cmp.Compare(x.Priority, y.Priority), cmp.Compare(x.Created, y.Created), cmp.Compare(x.ID, y.ID))
	})
	return d
}

// displacing is one choice being made.
type displacing struct {
	*Book
	requests []Request
	// scarce are links that lack room for the requests.
	scarce []bool
	// holders may be displaced, the first priority first; gone are those that are out of the book now.
	holders []holder
	gone    map[int]bool
	// floor is the first priority that has to be looked at.
	floor int64
}

type holder struct {
	Holder
	grants []Grant
	// scarce are its links that lack room for the requests.
	scarce []int32
	// rate is the highest one within the windows of the requests.
	rate int64
}

// lackingAny are the links that lack room for all requests together at some time of some request. A holder with nothing
// on one of them is in the way of no path: without it the same links lack room.
func (d *displacing) lackingAny() []bool {
	sum := int64(0)
	for _, r := range d.requests {
		sum += min(r.Rate, calendar.MaxRate) // few, so no overflow
	}
	out := make([]bool, len(d.links))
	for l, c := range d.links {
		out[l] = slices.ContainsFunc(d.requests, func(r Request) bool { return r.Window.Check() == nil && c.LeastFree(r.Window, r.Cap) < sum })
	}
	return out
}

// add takes a holder that has something on a scarce link in the windows of the requests. The whole book is looked at,
// so nothing is made of those that are left out.
func (d *displacing) add(of Holder) {
	h := holder{Holder: of}
	for _, name := range of.Names {
		k, booked := d.circuits[name]
		if !booked {
			continue
		}
		h.rate = max(h.rate, d.rateWithin(k))
		for _, l := range k.links {
			if d.scarce[l] {
				h.scarce = append(h.scarce, l)
			}
		}
	}
	if h.rate == 0 || len(h.scarce) == 0 {
		return
	}
	for _, name := range of.Names {
		if k, booked := d.circuits[name]; booked {
			h.grants = append(h.grants, d.grant(name, k))
		}
	}
	d.holders = append(d.holders, h)
}

// rateWithin is the highest rate of a booking in the windows of the requests.
func (d *displacing) rateWithin(k booking) (most int64) {
	for _, r := range d.requests {
		for _, s := range k.slots {
			if overlap(s.Window, r.Window) {
				most = max(most, s.Rate)
			}
		}
	}
	return most
}

func overlap(a, b calendar.Window) bool { return a.Start < b.End && b.Start < a.End }

// only takes these out of the book, and no others.
func (d *displacing) only(these []int) {
	for i := range d.gone {
		if !slices.Contains(these, i) {
			d.putBack(i)
		}
	}
	for _, i := range these {
		d.takeOut(i)
	}
}

func (d *displacing) takeOut(i int) {
	if d.gone[i] {
		return
	}
	for _, g := range d.holders[i].grants {
		if err := d.Remove(g.ID); err != nil {
			panic("what is booked is there: " + err.Error())
		}
	}
	d.gone[i] = true
}

func (d *displacing) putBack(i int) {
	for _, g := range d.holders[i].grants {
		if err := d.Restore(g); err != nil {
			panic("what was there fits: " + err.Error())
		}
	}
	delete(d.gone, i)
}

// decide tries the requests. Where there is room, use is called while they are booked; else lacks gets the one that
// found none, beside those before it.
func (d *displacing) decide(use func([]Grant), lacks func(*ask)) bool {
	var granted []Grant
	defer func() {
		for _, g := range granted {
			if err := d.Remove(g.ID); err != nil {
				panic("what was entered is there: " + err.Error())
			}
		}
	}()
	for _, r := range d.requests {
		a, refusal := d.look(r)
		if refusal != nil {
			return false
		}
		found := a.find()
		if !found.found() {
			lacks(a)
			return false
		}
		g := a.granted(found)
		if err := d.Enter(*g); err != nil {
			panic("what was granted is free: " + err.Error())
		}
		granted = append(granted, *g)
	}
	use(granted)
	return true
}

func nobody(*ask) {}

func nothing([]Grant) {}

// enough is a choice of which no circuit can be left out; nil where there is none. Later priorities go first.
func (d *displacing) enough() []int {
	fits := false
	for i := len(d.holders) - 1; i >= 0 && !fits; {
		d.floor = d.holders[i].Priority
		for ; i >= 0 && d.holders[i].Priority == d.floor; i-- {
			d.takeOut(i)
		}
		fits = d.decide(d.spare, nobody)
	}
	if !fits {
		return nil
	}
	// Another path may have room without one that this path needs.
	for _, i := range d.chosen() {
		if d.putBack(i); len(d.gone) > 4*MaxDisplaced || !d.decide(nothing, nobody) {
			d.takeOut(i)
		}
	}
	return d.chosen()
}

// chosen are those that are out of the book, the first priority first, and of one the highest rate.
func (d *displacing) chosen() (out []int) {
	for i := range d.gone {
		out = append(out, i)
	}
	slices.SortFunc(out, func(x, y int) int {
		a, b := d.holders[x], d.holders[y]
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(b.rate, a.rate), cmp.Compare(x, y))
	})
	return out
}

// spare puts back who is in the way of nothing that was granted, while that is booked.
func (d *displacing) spare(granted []Grant) {
	for _, i := range d.chosen() {
		if d.putBack(i); !d.fit(granted, d.holders[i]) {
			d.takeOut(i)
		}
	}
}

// fit reports whether links that grants and a holder have in common have room for both.
func (d *displacing) fit(granted []Grant, h holder) bool {
	has := map[string]bool{}
	for _, g := range h.grants {
		for _, id := range slices.Concat(g.Path, g.Backup) {
			has[id] = true
		}
	}
	for _, g := range granted {
		for _, id := range slices.Concat(g.Path, g.Backup) {
			l, _ := d.graph.LinkIndex(id)
			for _, s := range g.Slots {
				if has[id] && d.links[l].LeastFree(s.Window, g.Cap) < 0 {
					return false
				}
			}
		}
	}
	return true
}
