package circuits

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/events"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/ledger"
	"github.com/millrace/millrace/services/circuits/life"
	"github.com/millrace/millrace/services/circuits/restore"
)

// restorer is what a replica remembers of circuits whose path is lost. One that begins anew waits once more until links
// are gone for long enough, and tries at once. What it remembers of a circuit counts while the record agrees: other
// replicas write it, too.
type restorer struct {
	// one pass at a time.
	mu    sync.Mutex
	lost  map[string]int64
	tries map[string]restore.Tries
	// busy: some circuit was moved, and others are about to be: a change set that is requested now would lack them.
	busy atomic.Bool
}

// restore gives circuits that have lost their path another one, those that come first first.
func (c *Component) restore(ctx context.Context) error {
	r := &c.restorer
	if !r.mu.TryLock() {
		return nil
	}
	defer r.mu.Unlock()
	now := c.deps.Now()
	all, seen, err := c.lost(now.Unix())
	if err != nil {
		return err
	}
	due := restore.Due(all, now.Unix(), int64(c.cfg.Restore.After/time.Second), seen)
	began := time.Now()
	return c.pass(ctx, due, seen, now, func() bool { return time.Since(began) > passFor })
}

// passFor is about how long a pass lasts: the same loop looks at the clock and at the topology.
const passFor = 500 * time.Millisecond

// pass looks for other paths until it is over. What is left is due in the next one.
func (c *Component) pass(ctx context.Context, due []restore.Circuit, seen int64, now time.Time, over func() bool) (err error) {
	r := &c.restorer
	defer r.busy.Store(false)
	for i, l := range due {
		if i > 0 && over() {
			break
		}
		found, looked := c.reroute(ctx, l.ID, now)
		switch {
		case ctx.Err() != nil:
			return nil
		case looked != nil:
			err = errors.Join(err, fmt.Errorf("look for another path of circuit %s: %w", l.ID, looked))
		case !found:
			r.tries[l.ID] = restore.Tries{Count: l.Tries.Count + 1, At: now.Unix(), Seen: seen}
		}
	}
	return err
}

// lost lists the circuits whose path is lost by this replica's reading of the links, and says how often links or
// bookings have changed until now. Records are not asked: a replica with an older reading may have written that a path
// is there, and a later circuit must not have what an earlier one needs.
func (c *Component) lost(now int64) (all []restore.Circuit, seen int64, err error) {
	r := &c.restorer
	since, tries := map[string]int64{}, map[string]restore.Tries{}
	err = c.ledger.Look("", func(records func(func(*circuitsv1.Record) bool)) {
		if c.book.known() != nil {
			since, tries = maps.Clone(r.lost), maps.Clone(r.tries) // it is unknown which links exist
			return
		}
		seen = c.book.changes
		for m := range records {
			if !ledger.Books(m) || c.book.there(m.GetCircuit()) {
				continue
			}
			id := m.GetCircuit().GetId()
			since[id] = now
			if at, known := r.lost[id]; known {
				since[id] = min(at, now) // the clock may have been set back
			}
			tried := r.tries[id]
			if m.GetCircuit().GetNotRestored() == nil {
				// The record lacks why it stays: after it was tried here, a replica with an older reading of the links
				// wrote that its link is back.
				tried = restore.Tries{}
			}
			tried.At = min(tried.At, now)
			tries[id] = tried
			one := lostCircuit(m)
			one.Lost, one.Tries = since[id], tries[id]
			all = append(all, one)
		}
	})
	if err == nil {
		r.lost, r.tries = since, tries
	}
	return all, seen, err
}

// pathLost is the event about a circuit that has lost its path.
func pathLost() life.Event {
	return life.Event{Kind: life.PathLost, Text: "a link of its path is gone from the topology"}
}

// lostCircuit is what a record says of one whose path is lost, also where that is not written yet.
func lostCircuit(r *circuitsv1.Record) restore.Circuit {
	c := r.GetCircuit()
	after, _ := life.Next(ledger.LifeOf(r), pathLost())
	return restore.Circuit{
		ID: c.GetId(), Priority: priorityOf(c.GetTerms()), Created: c.GetCreated().AsTime().UnixNano(), Life: after,
		Hold: c.GetTerms().GetOnFailure() == circuitsv1.OnFailure_ON_FAILURE_HOLD,
	}
}

// withLoss is the record of such a circuit with the loss written, and the transitions by that.
func withLoss(was *circuitsv1.Record, now time.Time) (*circuitsv1.Record, []life.Move) {
	if was.GetLife().GetGone() {
		return was, nil
	}
	next, actions := life.Next(ledger.LifeOf(was), pathLost())
	return told(was, next, actions, now), next.Moves
}

// reroute books another path for a circuit, or records why there is none. It is found as well where another replica
// did, or the circuit needs none any more.
func (c *Component) reroute(ctx context.Context, id string, now time.Time) (found bool, err error) {
	var moves []life.Move
	var others []displaced
	record, err := c.ledger.RebookBeside(ctx, id, func(was *circuitsv1.Record) (is *circuitsv1.Record, all []*circuitsv1.Record, err error) {
		is, moves, others, err = c.book.rerouted(was, now)
		return is, recordsOf(others), err
	})
	if errors.Is(err, ledger.ErrTooLarge) {
		err = tooLarge(err)
	}
	var no refused
	switch {
	case errors.As(err, &no):
		count(c.metrics.reroutes, err)
		return false, c.tellNotRerouted(ctx, id, no.Refusal, now)
	case err != nil || len(moves) == 0:
		return err == nil, err
	}
	c.restorer.busy.Store(true)
	count(c.metrics.reroutes, nil)
	c.events.Publish(ctx, events.CircuitRerouted, id, fmt.Sprintf("Circuit %s of project %s, %s to %s: %s.", id, record.GetCircuit().GetTerms().GetProject(),
		record.GetCircuit().GetTerms().GetFrom(), record.GetCircuit().GetTerms().GetTo(), moves[len(moves)-1].Note))
	c.publish(ctx, record, moves)
	c.publishDisplaced(ctx, others)
	return true, nil
}

// tellNotRerouted records why a circuit has no other path, once for each reason and the links in the way. The event is
// raised where the reason is another one.
func (c *Component) tellNotRerouted(ctx context.Context, id string, no *circuitsv1.Refusal, now time.Time) error {
	var lost []life.Move
	ours, other, note := false, false, "there is no other path: "+no.GetReason()
	if links := blocking(no); len(links) > 0 {
		note += "; in the way: " + strings.Join(links, ", ")
	}
	record, err := c.ledger.Change(ctx, id, func(was *circuitsv1.Record) (*circuitsv1.Record, error) {
		had := was.GetCircuit().GetNotRestored()
		other = had.GetCode() != no.GetCode()
		ours = lostCircuit(was).Moves(now.Unix()) && (had.GetCode() != no.GetCode() || !slices.Equal(blocking(had), blocking(no)))
		if !ours {
			return nil, nil
		}
		was, lost = withLoss(was, now)
		is := proto.CloneOf(was)
		is.Circuit.NotRestored = no
		is.Circuit.History = append(is.Circuit.History, &circuitsv1.Transition{State: was.GetCircuit().GetState(), Time: timestamppb.New(now), By: life.Self, Note: note})
		return ledger.With(is, ledger.LifeOf(is), now), nil
	})
	if err != nil || !ours {
		return err
	}
	c.publish(ctx, record, lost)
	if !other {
		return nil
	}
	t := record.GetCircuit().GetTerms()
	c.events.Publish(ctx, events.CircuitNotRerouted, id, fmt.Sprintf("Circuit %s of project %s, %s to %s: %s.", id, t.GetProject(), t.GetFrom(), t.GetTo(), note))
	return nil
}

// maxBlocking is how many links a note names.
const maxBlocking = 5

// blocking are the first links that a refusal names.
func blocking(no *circuitsv1.Refusal) (out []string) {
	for _, b := range no.GetBlockers() {
		out = append(out, b.GetLink())
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(len(out), maxBlocking)]
}
