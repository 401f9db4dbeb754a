package circuits

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/events"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/admit"
	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/circuits/ledger"
	"github.com/millrace/millrace/services/circuits/life"
	"github.com/millrace/millrace/services/circuits/restore"
)

// displaced is a circuit that makes room for another one, or is changed with it: its record as it was and is, and the
// transitions in it.
type displaced struct {
	was, is *circuitsv1.Record
	moves   []life.Move
	// stays: it makes no room, and is only not apart any more from the circuit that moves.
	stays bool
}

// displacer is a circuit that others make room for.
type displacer struct {
	id    string
	setup int64
	// from is when it begins.
	from int64
}

// pathsDisplacing decides on a request with the setup priority of its terms: where links lack room, circuits behind it
// make room. Afterwards the book is what it was.
func (b *book) pathsDisplacing(r admit.Request, t *circuitsv1.Terms, now time.Time) (forth, back *admit.Grant, others []displaced, no *admit.Refusal) {
	forth, back, no = b.pathsBy(b.admit.DecideOnly, r, between(t))
	if no == nil || no.Code != admit.Capacity || r.Bytes > 0 || setupOf(t) == restore.Last { // nobody is behind the last
		return forth, back, nil, no
	}
	requests := []admit.Request{r}
	if between(t) {
		requests = append(requests, returnRequest(r))
	}
	chosen := b.admit.Displace(requests, setupOf(t), b.holders(r, setupOf(t)))
	if len(chosen) == 0 {
		return nil, nil, nil, no
	}
	defer b.without(chosen)()
	forth, back, no = b.pathsBy(b.admit.DecideOnly, r, between(t))
	if no != nil {
		return nil, nil, nil, no
	}
	granted := []admit.Grant{*forth}
	if back != nil {
		granted = append(granted, *back)
	}
	for _, g := range granted {
		b.mustEnter(g)
		defer b.mustRemove(g.ID)
	}
	by := displacer{id: r.ID, setup: setupOf(t), from: max(r.Start, now.Unix())}
	slices.SortFunc(chosen, func(x, y admit.Holder) int {
		return cmp.Or(cmp.Compare(x.Priority, y.Priority), cmp.Compare(x.Created, y.Created), cmp.Compare(x.ID, y.ID))
	})
	for _, h := range chosen {
		d := b.displace(b.records[h.ID], by, now)
		if ledger.Books(d.is) {
			b.mustBook(d.is)
			defer b.mustFree(d.is)
		}
		others = append(others, d)
	}
	return forth, back, others, nil
}

// insteadDisplacing is pathsDisplacing for a circuit that has lost its path, and whose own capacity counts as free.
func (b *book) insteadDisplacing(was *circuitsv1.Record, r admit.Request, now time.Time) (forth, back *admit.Grant, others []displaced, no *admit.Refusal) {
	defer b.without([]admit.Holder{{ID: r.ID}})()
	return b.pathsDisplacing(r, was.GetCircuit().GetTerms(), now)
}

// without takes circuits out of the book, until the answer is called.
func (b *book) without(these []admit.Holder) (putBack func()) {
	for _, h := range these {
		b.mustFree(b.records[h.ID])
	}
	return func() {
		for _, h := range these {
			b.mustBook(b.records[h.ID])
		}
	}
}

// mustBook books what a record has, where it was before, or where it was decided that it fits.
func (b *book) mustBook(r *circuitsv1.Record) {
	if err := b.enter(b.admit, r); err != nil {
		panic("what was decided fits: " + err.Error())
	}
}

// mustFree is for what is booked.
func (b *book) mustFree(r *circuitsv1.Record) {
	if err := b.free(r); err != nil {
		panic("what is booked is there: " + err.Error())
	}
}

func (b *book) mustEnter(g admit.Grant) {
	if err := b.admit.Enter(g); err != nil {
		panic("what was granted is free: " + err.Error())
	}
}

func (b *book) mustRemove(id string) {
	if err := b.admit.Remove(id); err != nil {
		panic("what was entered is there: " + err.Error())
	}
}

// holders are the circuits that a request with a setup priority may displace: those that routers are being rid of have
// to be waited for. The whole book is looked at, so nothing is made of those that are left out.
func (b *book) holders(r admit.Request, setup int64) (out []admit.Holder) {
	for id, record := range b.records {
		c := record.GetCircuit()
		if priorityOf(c.GetTerms()) <= setup || !hasIn(c.GetSlots(), r.Window) || id == r.ID || slices.Contains(r.ApartFrom, id) || ledger.NameOf(c.GetState()) == life.Releasing {
			continue
		}
		out = append(out, admit.Holder{
			ID: id, Names: []string{id, backID(id), hadID(id)}, Priority: priorityOf(c.GetTerms()), Created: c.GetCreated().AsTime().UnixNano(),
		})
	}
	return out
}

// hasIn reports whether some slot has a second of a window.
func hasIn(slots []*circuitsv1.Slot, w calendar.Window) bool {
	return slices.ContainsFunc(slots, func(s *circuitsv1.Slot) bool {
		return s.GetStart().GetSeconds() < w.End && w.Start < seconds(s.GetEnd())
	})
}

// displace moves a circuit, which is out of the book, to another path, or takes its capacity away where there is none.
func (b *book) displace(was *circuitsv1.Record, by displacer, now time.Time) displaced {
	is, moves, err := b.movedAway(was, by, now)
	var no refused
	switch {
	case errors.As(err, &no):
		is, moves = preempted(was, by, no.Refusal, now)
	case err != nil:
		is, moves = preempted(was, by, &circuitsv1.Refusal{Code: codeState, Reason: err.Error()}, now)
	}
	return displaced{was: was, is: is, moves: moves}
}

// codeState: the state of a circuit does not allow it.
const codeState = "STATE"

// Reasons not to look for another path of a circuit that is displaced.
var (
	// Routers may have some of it, and a change set or a look at them decides what.
	errMayNotMove = errors.New("a change set of it is on its way, so it cannot be moved")
	errTogether   = errors.New("a circuit that it is to be apart from is displaced with it")
)

// movedAway is a circuit's record with another path.
func (b *book) movedAway(was *circuitsv1.Record, by displacer, now time.Time) (*circuitsv1.Record, []life.Move, error) {
	l, e := ledger.LifeOf(was), life.Event{Kind: life.Displaced, By: life.Self}
	switch waits := l.State == life.Held || l.State == life.Committed || l.State == life.Scheduled; {
	case l.Open || !waits && l.State != life.Active && !l.Gone:
		return nil, nil, errMayNotMove
	case slices.ContainsFunc(was.GetCircuit().GetTerms().GetApartFrom(), b.isOut):
		return nil, nil, errTogether
	case waits && !l.Gone:
		e.Kind = ""
	case l.Gone:
		e.Kind = life.Rerouted
	}
	g, back, err := b.elsewhere(was, now, func(r admit.Request) (*admit.Grant, *admit.Grant, *admit.Refusal) {
		return b.paths(r, between(was.GetCircuit().GetTerms()))
	})
	if err != nil {
		return nil, nil, err
	}
	is := proto.CloneOf(was)
	l.Start, l.End = b.relocate(is, g, back)
	e.Text = fmt.Sprintf("%s%s: circuit %s of setup priority %d has its capacity", movedTo, b.pathText(is.GetCircuit().GetPath()), by.id, by.setup)
	if e.Kind == "" {
		l.Moves = []life.Move{{From: l.State, To: l.State, By: e.By, Note: e.Text}}
		return ledger.With(is, l, now), nil, nil
	}
	next, actions := life.Next(l, e)
	if len(actions) > 0 && actions[0].Do == life.Refuse {
		return nil, nil, errMayNotMove
	}
	return ledger.With(is, next, now), next.Moves, nil
}

// isOut reports whether a circuit that has capacity is out of the book.
func (b *book) isOut(id string) bool {
	_, in := b.admit.Grant(id)
	return b.records[id] != nil && !in
}

// preempted is a circuit's record without what it has from the moment on at which another circuit begins. Until then it
// is carried as it was booked.
func preempted(was *circuitsv1.Record, by displacer, no *circuitsv1.Refusal, now time.Time) (*circuitsv1.Record, []life.Move) {
	is, l := proto.CloneOf(was), ledger.LifeOf(was)
	is.Circuit.Preempted = &circuitsv1.Preemption{Circuit: by.id, SetupPriority: int32(by.setup), From: moment(by.from), Refusal: no}
	left := until(grantOf(was).Slots, by.from)
	if len(left) > 0 {
		is.Circuit.Slots = slotsOf(&admit.Grant{Slots: left})
	}
	note := fmt.Sprintf("preempted by circuit %s of setup priority %d", by.id, by.setup)
	if len(left) > 0 && by.from > now.Unix() && l.State != life.Held {
		l.End = left[len(left)-1].End
		is.Circuit.Terms.End = moment(l.End)
		note += " from " + endText(moment(by.from)) + " on"
		l.Moves = []life.Move{{From: l.State, To: l.State, By: life.Self, Note: note}}
		return ledger.With(is, l, now), nil
	}
	next, _ := life.Next(l, life.Event{Kind: life.Release, By: life.Self, Text: note})
	return ledger.With(is, next, now), next.Moves
}

func recordsOf(others []displaced) (out []*circuitsv1.Record) {
	for _, d := range others {
		out = append(out, d.is)
	}
	return out
}

// answerOf is what the answer to a request says of those that it displaces.
func answerOf(others []displaced) (out []*circuitsv1.Displaced) {
	for _, d := range others {
		c := d.was.GetCircuit()
		told := &circuitsv1.Displaced{
			Circuit: c.GetId(), Project: c.GetTerms().GetProject(), Priority: int32(priorityOf(c.GetTerms())), RateBitsPerSecond: highestRate(d.was),
		}
		if p := d.is.GetCircuit().GetPreempted(); p != nil {
			told.PreemptedFrom = p.GetFrom()
		} else {
			told.Path = d.is.GetCircuit().GetPath()
		}
		out = append(out, told)
	}
	return out
}

func highestRate(r *circuitsv1.Record) (most int64) {
	for _, s := range grantOf(r).Slots {
		most = max(most, s.Rate)
	}
	return most
}

// publishDisplaced raises the events of circuits that made room.
func (c *Component) publishDisplaced(ctx context.Context, others []displaced) {
	for _, d := range others {
		is := d.is.GetCircuit()
		kind, last := events.CircuitDisplaced, is.GetHistory()[len(is.GetHistory())-1]
		switch {
		case d.stays:
			kind = events.CircuitNotApart
		case is.GetPreempted() != nil:
			kind = events.CircuitPreempted
		}
		c.events.Publish(ctx, kind, is.GetId(), fmt.Sprintf("Circuit %s of project %s, %s to %s: %s.", is.GetId(), is.GetTerms().GetProject(),
			is.GetTerms().GetFrom(), is.GetTerms().GetTo(), last.GetNote()))
		c.publish(ctx, d.is, d.moves)
	}
}
