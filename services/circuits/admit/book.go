package admit

import (
	"errors"
	"fmt"
	"slices"

	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/paths/cspf"
	"github.com/millrace/millrace/services/paths/disjoint"
	"github.com/millrace/millrace/services/paths/graph"
	"github.com/millrace/millrace/services/paths/segments"
)

// Errors of the book; what is wrapped around them says which circuit or link.
var (
	ErrTaken   = errors.New("there is a circuit of that name")
	ErrUnknown = errors.New("there is none of that name")
)

// Limits are what circuits may use of a link, bit/s: see calendar.Share.
type Limits struct{ Soft, Hard int64 }

// Book is a network, what of each link is free over time, and the circuits there are. It has one user at a time: Decide
// changes nothing that is booked, and works in the book's memory.
type Book struct {
	graph    *graph.Graph
	links    []*calendar.Calendar
	circuits map[string]booking
	sids     segments.SIDs
	// plain are routers that run no segment routing.
	plain []int32
	// workspace, pairs and segments are the memory of searches.
	workspace *cspf.Workspace
	pairs     *disjoint.Search
	segments  *segments.Finder
}

// booking is a circuit in the book: its links are those of the path, then those of the backup.
type booking struct {
	slots []Slot
	links []int32
	path  int
	cap   calendar.Cap
}

// NewBook is a book without circuits. Where the network changes, the next book is made of the new graph and the grants.
func NewBook(g *graph.Graph, limits func(graph.Link) Limits) (*Book, error) {
	b := &Book{graph: g, circuits: map[string]booking{}, workspace: &cspf.Workspace{}, pairs: &disjoint.Search{}, segments: &segments.Finder{}}
	for l := range int32(g.Links()) {
		most := limits(g.Link(l))
		c, err := calendar.New(most.Soft, most.Hard)
		if err != nil {
			return nil, fmt.Errorf("link %s: %w", g.Link(l).ID, err)
		}
		b.links = append(b.links, c)
	}
	return b, nil
}

// SetSIDs says which routers and links have SIDs. Without it all do.
func (b *Book) SetSIDs(sids segments.SIDs) { b.sids = sids }

// SetPlain says which routers run no segment routing: a circuit may begin or end there, but passes none, since its
// packets have labels (RFC 8402, section 3.1). Without it all run it.
func (b *Book) SetPlain(routers []int32) { b.plain = routers }

// Enter books a grant, all of it or nothing. It is calendar.ErrFull where something else was booked since it was
// granted.
func (b *Book) Enter(g Grant) error { return b.put(g, true) }

// Restore books what was granted before, whether it is free now or not: a link may have failed since.
func (b *Book) Restore(g Grant) error { return b.put(g, false) }

func (b *Book) put(g Grant, free bool) error {
	if _, taken := b.circuits[g.ID]; taken {
		return fmt.Errorf("circuit %s: %w", g.ID, ErrTaken)
	}
	k := booking{slots: slices.Clone(g.Slots), path: len(g.Path), cap: g.Cap}
	for _, id := range slices.Concat(g.Path, g.Backup) {
		l, ok := b.graph.LinkIndex(id)
		if !ok {
			return fmt.Errorf("link %s of circuit %s: %w", id, g.ID, ErrUnknown)
		}
		k.links = append(k.links, l)
	}
	done := 0
	for l, s := range k.each {
		if err := b.add(l, s, g.Cap, free); err != nil {
			b.take(k, done)
			return fmt.Errorf("link %s of circuit %s: %w", b.graph.Link(l).ID, g.ID, err)
		}
		done++
	}
	b.circuits[g.ID] = k
	return nil
}

func (b *Book) add(l int32, s Slot, most calendar.Cap, free bool) error {
	if free {
		return b.links[l].Book(s.Window, s.Rate, most)
	}
	return b.links[l].Add(s.Window, s.Rate)
}

// each is every slot on every link.
func (k booking) each(yield func(int32, Slot) bool) {
	for _, l := range k.links {
		for _, s := range k.slots {
			if !yield(l, s) {
				return
			}
		}
	}
}

// take undoes the first so many additions of a booking.
func (b *Book) take(k booking, additions int) {
	for l, s := range k.each {
		if additions--; additions < 0 {
			return
		}
		if err := b.links[l].Remove(s.Window, s.Rate); err != nil {
			panic("the book removes what it added: " + err.Error())
		}
	}
}

// Remove frees what a circuit has.
func (b *Book) Remove(id string) error {
	k, ok := b.circuits[id]
	if !ok {
		return fmt.Errorf("circuit %s: %w", id, ErrUnknown)
	}
	b.take(k, len(k.links)*len(k.slots))
	delete(b.circuits, id)
	return nil
}

// Grant is what a circuit in the book has.
func (b *Book) Grant(id string) (Grant, bool) {
	k, ok := b.circuits[id]
	if !ok {
		return Grant{}, false
	}
	return b.grant(id, k), true
}

func (b *Book) grant(id string, k booking) Grant {
	return Grant{
		ID: id, Cap: k.cap, Slots: slices.Clone(k.slots),
		Path: b.names(k.links[:k.path]), Backup: b.names(k.links[k.path:]),
	}
}

func (b *Book) names(links []int32) []string {
	var out []string
	for _, l := range links {
		out = append(out, b.graph.Link(l).ID)
	}
	return out
}

// SetOutages says anew which outages a link has.
func (b *Book) SetOutages(link string, outages []calendar.Outage) error {
	c, err := b.Calendar(link)
	if err != nil {
		return err
	}
	if err := c.SetOutages(outages); err != nil {
		return fmt.Errorf("link %s: %w", link, err)
	}
	return nil
}

// Calendar is that of a link, to read.
func (b *Book) Calendar(link string) (*calendar.Calendar, error) {
	l, ok := b.graph.LinkIndex(link)
	if !ok {
		return nil, fmt.Errorf("link %s: %w", link, ErrUnknown)
	}
	return b.links[l], nil
}

// Overbooked are the links and windows within another one in which an outage leaves less than is booked.
func (b *Book) Overbooked(w calendar.Window) []Blocker {
	var out []Blocker
	for l, c := range b.links {
		for lack, missing := range c.Lacks(w, 0, calendar.Hard) {
			out = append(out, Blocker{Link: b.graph.Link(int32(l)).ID, Window: lack, Shortfall: missing})
		}
	}
	return out
}

// Using are the circuits that have something on a link within a window, by name. It looks at every circuit.
func (b *Book) Using(link string, w calendar.Window) []string {
	var out []string
	l, ok := b.graph.LinkIndex(link)
	for id, k := range b.circuits {
		overlaps := func(s Slot) bool { return s.Start < w.End && w.Start < s.End }
		if ok && slices.Contains(k.links, l) && slices.ContainsFunc(k.slots, overlaps) {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}
