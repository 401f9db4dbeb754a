package circuits

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/admit"
	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/circuits/ledger"
	"github.com/millrace/millrace/services/circuits/maintain"
)

// hits are the circuits that maintenance hits, as they were found last.
type hits struct {
	all []maintain.Hit
	of  map[string]maintain.Hit
	// They hold from at until just before until, unless bookings or maintenance have changed since: then they are old.
	at, until int64
	old       bool
}

// PutMaintenance implements ledger.Mirror.
func (b *book) PutMaintenance(was, is *circuitsv1.Maintenance) {
	if is == nil {
		delete(b.maintenance, was.GetId())
	} else {
		b.maintenance[is.GetId()] = is
	}
	b.changes++
	if b.admit != nil && b.setOutages() != nil {
		b.miss()
	}
}

// setOutages gives the calendars of links what is planned now.
func (b *book) setOutages() error {
	var all []maintain.Planned
	for _, id := range slices.Sorted(maps.Keys(b.maintenance)) {
		if m := b.maintenance[id]; m.GetRemoved() == nil {
			all = append(all, plannedOf(m))
		}
	}
	had := b.takings
	b.takings = maintain.Takings(b.graph, all, b.usable)
	b.hits.old = true
	for link := range had {
		if _, known := b.graph.LinkIndex(link); known && len(b.takings[link]) == 0 {
			if err := b.admit.SetOutages(link, nil); err != nil {
				return err
			}
		}
	}
	for link, of := range b.takings {
		if err := b.admit.SetOutages(link, maintain.Outages(of)); err != nil {
			return err
		}
	}
	return nil
}

func plannedOf(m *circuitsv1.Maintenance) maintain.Planned {
	return maintain.Planned{
		ID: m.GetId(), Links: m.GetLinks(), Routers: m.GetRouters(), Left: m.GetLeftBitsPerSecond(), Window: maintenanceWindow(m),
	}
}

func maintenanceWindow(m *circuitsv1.Maintenance) calendar.Window {
	return calendar.Window{Start: m.GetStart().GetSeconds(), End: m.GetEnd().GetSeconds()}
}

// findHits are the circuits that have to leave links from now on. They change with what is booked or planned, and where
// a window is over, or a slot.
func (b *book) findHits(now int64) (*hits, error) {
	if !b.hits.old && b.hits.at <= now && now < b.hits.until {
		return &b.hits, nil
	}
	var circuits []maintain.Circuit
	if len(b.takings) > 0 {
		circuits = b.maintained()
	}
	all, err := maintain.Hits(b.takings, b.usableOf, circuits, now)
	if err != nil {
		return nil, err
	}
	b.hits = hits{all: all, of: map[string]maintain.Hit{}, at: now, until: maintain.Changes(b.takings, circuits, now)}
	for _, h := range all {
		b.hits.of[h.ID] = h
	}
	return &b.hits, nil
}

// usableOf is what circuits may use of a link.
func (b *book) usableOf(link string) int64 {
	l, _ := b.graph.LinkIndex(link)
	return b.usable(b.graph.Link(l).Capacity)
}

// maintained are the circuits that use links in maintenance.
func (b *book) maintained() (out []maintain.Circuit) {
	taken := func(h *circuitsv1.Hop) bool { return len(b.takings[h.GetLink()]) > 0 }
	for id, r := range b.records {
		c := r.GetCircuit()
		if !slices.ContainsFunc(hops(c), taken) {
			continue
		}
		g := grantOf(r)
		back, _ := backOf(r)
		out = append(out, maintain.Circuit{
			ID: id, Priority: priorityOf(c.GetTerms()), Created: c.GetCreated().AsTime().UnixNano(),
			Slots: g.Slots, Path: slices.Concat(g.Path, back.Path), Backup: g.Backup,
		})
	}
	return out
}

// maintenanceOn are the ids of what takes of a link in a window.
func (b *book) maintenanceOn(link string, w calendar.Window) []string {
	return maintain.In(b.takings[link], w, func(calendar.Window) bool { return true })
}

// maintenanceBehind are the ids of the maintenance behind a blocker. That of a volume has the whole of its window: what
// leaves the volume its highest rate takes nothing of it.
func (b *book) maintenanceBehind(k admit.Blocker, asked admit.Request) []string {
	of, err := b.admit.Calendar(k.Link)
	if err != nil || asked.Bytes == 0 || asked.Rate == 0 {
		return b.maintenanceOn(k.Link, k.Window)
	}
	return maintain.In(b.takings[k.Link], k.Window, func(w calendar.Window) bool { return of.LeastFree(w, asked.Cap) < asked.Rate })
}

// maxNamed is how much maintenance a reason names.
const maxNamed = 3

// maintenanceText says for people which maintenance a refusal is for.
func (b *book) maintenanceText(blockers []*circuitsv1.Blocker) string {
	var ids, texts []string
	for _, k := range blockers {
		ids = append(ids, k.GetMaintenance()...)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	for _, id := range ids[:min(len(ids), maxNamed)] {
		m := b.maintenance[id]
		texts = append(texts, fmt.Sprintf("%s (%s, planned by %s) %s", id, m.GetReason(), m.GetBy(), spanText(maintenanceWindow(m))))
	}
	switch {
	case len(ids) == 0:
		return ""
	case len(ids) > maxNamed:
		texts = append(texts, fmt.Sprintf("and %d more", len(ids)-maxNamed))
	}
	return "; in maintenance: " + strings.Join(texts, "; ")
}

// fates are what becomes of the circuits that a maintenance hits, which the book has among its takings. Those that are
// moved first are moved in the book while the rest is looked at.
func (b *book) fates(id string, now time.Time) (out []*circuitsv1.MaintenanceHit, omitted int, err error) {
	found, err := b.findHits(now.Unix())
	if err != nil {
		return nil, 0, err
	}
	var undo []func()
	defer func() {
		for _, back := range slices.Backward(undo) {
			back()
		}
	}()
	for _, h := range slices.Clone(found.all) {
		if !slices.Contains(h.Of, id) {
			continue
		}
		if len(out) == maxHits {
			omitted++
			continue
		}
		told := b.hitOf(h)
		if len(out) < maxFates {
			undo = append(undo, b.fate(told, h, now))
		}
		out = append(out, told)
	}
	return out, omitted, nil
}

// The sizes of answers: maxFates circuits are looked at for another path.
const (
	maxHits  = 1000
	maxFates = 100
)

func (b *book) hitOf(h maintain.Hit) *circuitsv1.MaintenanceHit {
	r := b.records[h.ID]
	t := r.GetCircuit().GetTerms()
	return &circuitsv1.MaintenanceHit{
		Circuit: h.ID, Project: t.GetProject(), From: t.GetFrom(), To: t.GetTo(), State: r.GetCircuit().GetState(),
		Priority: int32(priorityOf(t)), RateBitsPerSecond: highestRate(r), Links: h.Links,
	}
}

// fate fills in what becomes of a circuit. What it would get is in the book until the answer is called.
func (b *book) fate(told *circuitsv1.MaintenanceHit, h maintain.Hit, now time.Time) (undo func()) {
	to, err := b.vacated(b.records[h.ID], h, now)
	told.Fate = to.fate
	if err != nil {
		told.Fate, told.Refusal = circuitsv1.Fate_FATE_STAYS, refusalFor(err)
	}
	if to.is == nil {
		return func() {}
	}
	told.Path = to.is.GetCircuit().GetPath()
	return b.suppose(append([]displaced{{was: b.records[h.ID], is: to.is}}, to.others...))
}

// suppose has other records in the book, until the answer is called.
func (b *book) suppose(all []displaced) (undo func()) {
	for _, d := range all {
		b.replace(d.was, d.is)
	}
	return func() {
		for _, d := range slices.Backward(all) {
			b.replace(d.is, d.was)
		}
	}
}

func (b *book) replace(was, is *circuitsv1.Record) {
	id := is.GetCircuit().GetId()
	if ledger.Books(was) {
		b.mustFree(was)
		delete(b.records, id)
	}
	if ledger.Books(is) {
		b.mustBook(is)
		b.records[id] = is
	}
}
