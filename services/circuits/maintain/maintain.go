// Package maintain decides what planned maintenance takes from which links, and which circuits have to leave them. It
// knows no clock, store or network.
//
// In: a graph, windows in which links or routers are out or have less, circuits with their links and slots. Out:
// outages for services/circuits/calendar, and the circuits that have no room on their links meanwhile, those that are
// moved first first. Next: services/circuits, which refuses what would meet an outage, and moves those circuits.
//
// Mutation testing: 22 of 23 killed (docs/reference/mutants.md).
package maintain

import (
	"cmp"
	"maps"
	"slices"

	"github.com/millrace/millrace/services/circuits/admit"
	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/paths/graph"
)

// Planned is one maintenance. Links and routers that the graph lacks are passed over: they may come back.
type Planned struct {
	ID string
	calendar.Window
	Links, Routers []string
	// Left is what each link has meanwhile, bit/s; not of the links of routers, which have nothing.
	Left int64
}

// Taken is an outage of a link, and the maintenance that it is of.
type Taken struct {
	calendar.Outage
	ID string
}

// Takings are the outages of links by their ids. usable is what circuits may use of a port of some rate.
func Takings(g *graph.Graph, all []Planned, usable func(port int64) int64) map[string][]Taken {
	out := map[string][]Taken{}
	for _, p := range all {
		left := map[int32]int64{}
		for _, id := range p.Links {
			if l, known := g.LinkIndex(id); known {
				left[l] = usable(min(p.Left, g.Link(l).Capacity))
			}
		}
		for _, id := range p.Routers {
			if n, known := g.NodeIndex(id); known {
				for _, l := range linksOf(g, n) {
					left[l] = 0
				}
			}
		}
		for _, l := range slices.Sorted(maps.Keys(left)) {
			if is := g.Link(l); left[l] < usable(is.Capacity) {
				out[is.ID] = append(out[is.ID], Taken{ID: p.ID, Outage: calendar.Outage{Window: p.Window, Left: left[l]}})
			}
		}
	}
	return out
}

// linksOf a router, both ways.
func linksOf(g *graph.Graph, n int32) []int32 {
	out := slices.Clone(g.In(n))
	for l, end := g.Out(n); l < end; l++ {
		out = append(out, l)
	}
	return out
}

// Outages are those of takings, as calendars have them.
func Outages(of []Taken) (out []calendar.Outage) {
	for _, t := range of {
		out = append(out, t.Outage)
	}
	return out
}

// In are the ids of what takes of a link within a window, where lacks says so of the seconds in which it does.
func In(of []Taken, w calendar.Window, lacks func(calendar.Window) bool) (ids []string) {
	for _, t := range of {
		both := calendar.Window{Start: max(t.Start, w.Start), End: min(t.End, w.End)}
		if both.Start < both.End && lacks(both) {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// Circuit is one that has capacity: Path with the return path, if it has one, and Backup are ids of links.
type Circuit struct {
	ID string
	// Priority, and Created, in any one unit, say who stays where not all can.
	Priority, Created int64
	Slots             []admit.Slot
	Path, Backup      []string
}

// Hit is a circuit which has no room on its path, or on its backup, while they are in maintenance.
type Hit struct {
	ID           string
	Path, Backup bool
	// Of are the ids of the maintenance, Links those of the links in it that the circuit uses.
	Of, Links []string
}

// Hits are the circuits that have to leave links from an instant on, the first priority first. Where a part of a link
// is left, circuits stay on it in that order while they fit. usable is what circuits may use of a link.
func Hits(takings map[string][]Taken, usable func(link string) int64, circuits []Circuit, now int64) (out []Hit, err error) {
	links := map[string]*calendar.Calendar{}
	for id, of := range takings {
		c, err := calendar.New(usable(id), usable(id))
		if err == nil {
			err = c.SetOutages(Outages(of))
		}
		if err != nil {
			return nil, err
		}
		links[id] = c
	}
	circuits = slices.Clone(circuits)
	slices.SortFunc(circuits, func(a, b Circuit) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Created, b.Created), cmp.Compare(a.ID, b.ID))
	})
	f := fitting{takings: takings, links: links, now: now}
	for _, c := range circuits {
		h := Hit{ID: c.ID}
		if h.Path, err = f.stay(&h, c.Slots, c.Path); err != nil {
			return nil, err
		}
		if h.Backup, err = f.stay(&h, c.Slots, c.Backup); err != nil {
			return nil, err
		}
		if h.Path || h.Backup {
			slices.Sort(h.Of)
			slices.Sort(h.Links)
			h.Of, h.Links = slices.Compact(h.Of), slices.Compact(h.Links)
			out = append(out, h)
		}
	}
	return out, nil
}

// Changes is the first instant after now at which the hits may be others though nothing is booked or planned: a window
// is over, or a slot.
func Changes(takings map[string][]Taken, circuits []Circuit, now int64) int64 {
	next := int64(calendar.Forever)
	ends := func(w calendar.Window) {
		if w.End > now {
			next = min(next, w.End)
		}
	}
	for _, of := range takings {
		for _, t := range of {
			ends(t.Window)
		}
	}
	for _, c := range circuits {
		for _, s := range c.Slots {
			ends(s.Window)
		}
	}
	return next
}

// fitting is the links in maintenance with those that stay on them.
type fitting struct {
	takings map[string][]Taken
	links   map[string]*calendar.Calendar
	now     int64
}

// stay books slots on those of the links that are in maintenance meanwhile, or says in a hit where they lack room.
func (f *fitting) stay(h *Hit, slots []admit.Slot, path []string) (hit bool, err error) {
	for _, id := range path {
		for _, t := range f.takings[id] {
			if f.lacks(id, t, slots) {
				hit = true
				h.Of, h.Links = append(h.Of, t.ID), append(h.Links, id)
			}
		}
	}
	if hit {
		return true, nil
	}
	for _, id := range path {
		c := f.links[id]
		for _, s := range slots {
			if c == nil {
				break
			}
			if err := c.Add(s.Window, s.Rate); err != nil {
				return false, err
			}
		}
	}
	return false, nil
}

// lacks reports whether a link in maintenance lacks room for some slot.
func (f *fitting) lacks(id string, t Taken, slots []admit.Slot) bool {
	return slices.ContainsFunc(slots, func(s admit.Slot) bool {
		w := calendar.Window{Start: max(s.Start, t.Start, f.now), End: min(s.End, t.End)}
		return w.Start < w.End && f.links[id].LeastFree(w, calendar.Hard) < s.Rate
	})
}
