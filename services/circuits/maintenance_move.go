package circuits

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/events"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/admit"
	"github.com/millrace/millrace/services/circuits/ledger"
	"github.com/millrace/millrace/services/circuits/life"
	"github.com/millrace/millrace/services/circuits/maintain"
	"github.com/millrace/millrace/services/circuits/restore"
)

// vacator is what a replica remembers of circuits that maintenance hits and that have no other path.
type vacator struct {
	mu sync.Mutex // one pass at a time
	// tries are by the circuit and what it is hit by: what is planned later is looked at at once.
	tries map[string]restore.Tries
}

func triesOf(h maintain.Hit) string { return fmt.Sprint(h) }

// vacation is a circuit's record without the links in maintenance: nil where it stays, or has to be waited for.
type vacation struct {
	fate   circuitsv1.Fate
	is     *circuitsv1.Record
	moves  []life.Move
	others []displaced
	note   string
}

// vacate moves circuits off links that will be in maintenance, those that come first first, and records why the others
// stay. It is done as soon as maintenance is planned: there is room now, and nobody knows what is booked until the
// window.
func (c *Component) vacate(ctx context.Context) (err error) {
	v := &c.vacator
	if !v.mu.TryLock() {
		return nil
	}
	defer v.mu.Unlock()
	now := c.deps.Now()
	due, seen, err := c.toVacate(now)
	began := time.Now()
	for i, h := range due {
		if i > 0 && time.Since(began) > passFor {
			break
		}
		looked := c.vacateOne(ctx, h, now)
		var no refused
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.As(looked, &no):
			v.tries[triesOf(h)] = restore.Tries{Count: v.tries[triesOf(h)].Count + 1, At: now.Unix(), Seen: seen}
		case looked != nil:
			err = errors.Join(err, fmt.Errorf("move circuit %s off what will be in maintenance: %w", h.ID, looked))
		}
	}
	return err
}

// toVacate lists the circuits that are to be looked at now: those that are hit, but for those that were tried in vain
// since when nothing has changed, and those that were hit and are not any more, without what they are hit by.
func (c *Component) toVacate(now time.Time) (due []maintain.Hit, seen int64, err error) {
	tries := map[string]restore.Tries{}
	looked := c.ledger.Look("", func(func(func(*circuitsv1.Record) bool)) {
		if c.book.known() != nil {
			tries = c.vacator.tries // it is unknown which links exist
			return
		}
		var found *hits
		if found, err = c.book.findHits(now.Unix()); err != nil {
			return
		}
		seen = c.book.changes
		for _, h := range found.all {
			t, tried := c.vacator.tries[triesOf(h)]
			t.At = min(t.At, now.Unix()) // the clock may have been set back
			if tried {
				tries[triesOf(h)] = t
			}
			if t.Due(now.Unix(), seen) {
				due = append(due, h)
			}
		}
		for id, r := range c.book.records {
			if _, hit := found.of[id]; !hit && r.GetCircuit().GetUnmoved() != nil {
				due = append(due, maintain.Hit{ID: id})
			}
		}
	})
	c.vacator.tries = tries
	return due, seen, errors.Join(looked, err)
}

// vacateOne moves a circuit that is hit, or records why it stays. It is refused where there is no other path for it.
func (c *Component) vacateOne(ctx context.Context, h maintain.Hit, now time.Time) error {
	var to vacation
	var stays error
	record, err := c.ledger.RebookBeside(ctx, h.ID, func(was *circuitsv1.Record) (*circuitsv1.Record, []*circuitsv1.Record, error) {
		to, stays = vacation{}, nil
		if err := c.book.known(); err != nil {
			return nil, nil, err
		}
		found, err := c.book.findHits(now.Unix())
		if err != nil {
			return nil, nil, err
		}
		h := found.of[h.ID]
		to, stays = c.book.vacated(was, h, now)
		var no refused
		if stays != nil && !errors.As(stays, &no) {
			return nil, nil, stays
		}
		if no.Refusal == nil && staysFor[to.fate] != nil {
			no.Refusal, stays = staysFor[to.fate], refused{staysFor[to.fate]}
		}
		if to.is == nil {
			to.is, to.note = c.book.unmoved(was, h, no.Refusal, now)
		}
		return to.is, recordsOf(to.others), nil
	})
	switch {
	case errors.Is(err, ledger.ErrNoCircuit):
		return nil
	case err != nil:
		return err
	case to.is == nil: // nothing is new
		return stays
	}
	kind := events.CircuitVacated
	if record.GetCircuit().GetUnmoved() != nil {
		kind = events.CircuitNotVacated
	}
	t := record.GetCircuit().GetTerms()
	c.events.Publish(ctx, kind, h.ID, fmt.Sprintf("Circuit %s of project %s, %s to %s: %s.", h.ID, t.GetProject(), t.GetFrom(), t.GetTo(), to.note))
	c.publish(ctx, record, to.moves)
	c.publishDisplaced(ctx, to.others)
	return stays
}

// vacated is a circuit's record without the links in maintenance: on its backup, or on another path. What is active has
// the earlier path as well until routers have the other one, but for a volume, whose slots change with its path.
func (b *book) vacated(was *circuitsv1.Record, h maintain.Hit, now time.Time) (to vacation, err error) {
	c, l := was.GetCircuit(), ledger.LifeOf(was)
	waits := l.State == life.Held || l.State == life.Committed || l.State == life.Scheduled
	switch {
	case !h.Path && !h.Backup:
		return vacation{}, nil
	case !h.Path:
		return vacation{fate: circuitsv1.Fate_FATE_UNPROTECTED}, nil
	case c.GetTerms().GetOnFailure() == circuitsv1.OnFailure_ON_FAILURE_HOLD:
		return vacation{fate: circuitsv1.Fate_FATE_HOLDS}, nil
	case l.Open || l.Gone || !waits && l.State != life.Active:
		return vacation{fate: circuitsv1.Fate_FATE_BUSY}, nil
	}
	to.is = proto.CloneOf(was)
	to.is.Circuit.Unmoved = nil
	if spare := c.GetBackup(); len(spare) > 0 && !h.Backup && !slices.ContainsFunc(spare, b.isGone) {
		to.fate = circuitsv1.Fate_FATE_BACKUP
		to.is.Circuit.Path, to.is.Circuit.Backup = to.is.Circuit.GetBackup(), to.is.Circuit.GetPath()
	} else {
		to.fate = circuitsv1.Fate_FATE_MOVES
		g, back, err := b.elsewhere(was, now, func(r admit.Request) (forth, back *admit.Grant, no *admit.Refusal) {
			forth, back, to.others, no = b.insteadDisplacing(was, r, now)
			return forth, back, no
		})
		if err != nil {
			return vacation{fate: circuitsv1.Fate_FATE_STAYS}, err
		}
		l.Start, l.End = b.relocate(to.is, g, back)
		to.is.Circuit.Displaced = answerOf(to.others)
	}
	to.others = append(to.others, b.notApart(was, to.is, to.others, now)...)
	to.note = movedTo + b.pathText(to.is.GetCircuit().GetPath()) + b.forText(h)
	return b.onto(to, was, l, now)
}

// onto completes the record of a circuit that moves: what routers have of it is given to them by a change set.
func (b *book) onto(to vacation, was *circuitsv1.Record, l life.Circuit, now time.Time) (vacation, error) {
	c := was.GetCircuit()
	e := life.Event{Kind: life.Updated, By: life.Self, Text: to.note}
	if c.GetTerms().GetVolumeBytes() > 0 && to.fate == circuitsv1.Fate_FATE_MOVES {
		e.Kind = life.Displaced
	}
	if l.State != life.Active {
		l.Moves = []life.Move{{From: l.State, To: l.State, By: life.Self, Note: to.note}}
		to.is = ledger.With(to.is, l, now)
		return to, nil
	}
	next, actions := life.Next(l, e)
	if len(actions) > 0 && actions[0].Do == life.Refuse {
		return vacation{fate: circuitsv1.Fate_FATE_BUSY}, nil
	}
	to.moves = next.Moves
	if e.Kind == life.Updated {
		to.is.Life.HadPath, to.is.Life.HadBackup, to.is.Life.HadBack = c.GetPath(), c.GetBackup(), c.GetBack()
		next.Moves = []life.Move{{From: l.State, To: l.State, By: life.Self, Note: to.note}}
		to.moves = nil
	}
	to.is = ledger.With(to.is, next, now)
	return to, nil
}

// forText says for people for which maintenance a circuit was moved.
func (b *book) forText(h maintain.Hit) string {
	if len(h.Of) == 0 {
		return ""
	}
	m := b.maintenance[h.Of[0]]
	return fmt.Sprintf(": link %s will be in maintenance %s %s", h.Links[0], m.GetId(), spanText(maintenanceWindow(m)))
}

// unmoved is the record of a circuit that stays, with the reason, once for each reason and maintenance; nil where it
// has that already, or has to be waited for. It has none any more where it is not hit any more.
func (b *book) unmoved(was *circuitsv1.Record, h maintain.Hit, no *circuitsv1.Refusal, now time.Time) (*circuitsv1.Record, string) {
	is, note := proto.CloneOf(was), ""
	switch had := was.GetCircuit().GetUnmoved(); {
	case len(h.Of) == 0 && had != nil:
		is.Circuit.Unmoved, note = nil, "maintenance "+had.GetMaintenance()+" takes nothing of it any more"
	case no == nil: // a change set of it is on its way
		return nil, ""
	default:
		if had.GetMaintenance() == h.Of[0] && had.GetRefusal().GetCode() == no.GetCode() && slices.Equal(blocking(had.GetRefusal()), blocking(no)) {
			return nil, ""
		}
		is.Circuit.Unmoved = &circuitsv1.Unmoved{Maintenance: h.Of[0], Refusal: no}
		note = "it stays on its path" + b.forText(h) + ": " + no.GetReason()
	}
	is.Circuit.History = append(is.Circuit.History, &circuitsv1.Transition{State: was.GetCircuit().GetState(), Time: timestamppb.New(now), By: life.Self, Note: note})
	return ledger.With(is, ledger.LifeOf(is), now), note
}

// staysFor are the reasons of circuits that nobody looks for another path for.
var staysFor = map[circuitsv1.Fate]*circuitsv1.Refusal{
	circuitsv1.Fate_FATE_HOLDS:       {Code: codePolicy, Field: "on_failure", Reason: "its on_failure is to hold: it waits"},
	circuitsv1.Fate_FATE_UNPROTECTED: {Code: codePolicy, Field: "protection", Reason: "its backup is in maintenance, and its path is not"},
}

// refusalFor is why a circuit is not moved.
func refusalFor(err error) *circuitsv1.Refusal {
	var no refused
	if errors.As(err, &no) {
		return no.Refusal
	}
	return &circuitsv1.Refusal{Code: codeState, Reason: err.Error()}
}
