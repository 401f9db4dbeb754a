package circuits

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/events"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/admit"
	"github.com/millrace/millrace/services/circuits/ledger"
	"github.com/millrace/millrace/services/circuits/life"
	"github.com/millrace/millrace/services/circuits/reoptimise"
	"github.com/millrace/millrace/services/paths/graph"
)

// Reoptimise implements CircuitsService.
func (a *api) Reoptimise(ctx context.Context, r *connect.Request[circuitsv1.ReoptimiseRequest]) (*connect.Response[circuitsv1.ReoptimiseResponse], error) {
	out, err := a.c.reoptimise(ctx, r.Msg)
	if err != nil {
		return nil, answer(err)
	}
	return connect.NewResponse(out), nil
}

// reoptimise finds better paths, and books those that are worth a move.
func (c *Component) reoptimise(ctx context.Context, ask *circuitsv1.ReoptimiseRequest) (*circuitsv1.ReoptimiseResponse, error) {
	if err := c.mayReoptimise(ctx, ask); err != nil {
		return nil, err
	}
	now := c.deps.Now()
	ids := []string{ask.GetId()}
	if ask.GetId() == "" {
		err := c.ledger.Look("", func(func(func(*circuitsv1.Record) bool)) { ids = slices.Sorted(maps.Keys(c.book.records)) })
		if err != nil {
			return nil, err
		}
	}
	moves, would, err := c.betterPaths(ctx, ids, now, func(began time.Time) bool { return time.Since(began) > passFor })
	if err != nil {
		return nil, err
	}
	chosen, left := reoptimise.Choose(moves, c.cfg.Reoptimise.LeastGain, c.cfg.Reoptimise.Moves)
	out := &circuitsv1.ReoptimiseResponse{Left: int32(left)}
	for _, m := range chosen {
		out.Moves = append(out.Moves, would[m.ID])
	}
	if ask.GetDryRun() {
		return out, nil
	}
	return out, bookMoves(out, func(id string) (*circuitsv1.PathMove, error) { return c.moveToBetter(ctx, id, ask.GetBy(), now) })
}

// betterPaths looks for a better path of each circuit. The book is held until over, and then left to others for a
// moment: all of a large book take a minute.
func (c *Component) betterPaths(ctx context.Context, ids []string, now time.Time, over func(began time.Time) bool) (moves []reoptimise.Move, would map[string]*circuitsv1.PathMove, err error) {
	would = map[string]*circuitsv1.PathMove{}
	for len(ids) > 0 && err == nil {
		looked := c.ledger.Look("", func(func(func(*circuitsv1.Record) bool)) {
			err = c.book.known()
			began, held := time.Now(), false
			for ; err == nil && len(ids) > 0 && !(held && over(began)); ids = ids[1:] {
				held = true
				r := c.book.records[ids[0]]
				if b := c.book.better(r, now); b != nil {
					moves, would[b.move.ID] = append(moves, b.move), c.book.moveOf(r, b)
				}
				err = ctx.Err()
			}
		})
		err = errors.Join(looked, err)
	}
	return moves, would, err
}

// bookMoves makes of moves that were found what was booked of them. After an error the others are left for another
// call; it is returned where nothing was booked, and else is in its move.
func bookMoves(out *circuitsv1.ReoptimiseResponse, book func(id string) (*circuitsv1.PathMove, error)) error {
	done := false
	for i, found := range out.GetMoves() {
		booked, err := book(found.GetCircuit())
		switch {
		case err != nil && !done:
			return err
		case err != nil:
			found.Error = err.Error()
			out.Left += int32(len(out.GetMoves()) - i - 1)
			out.Moves = out.GetMoves()[:i+1]
			return nil
		case booked != nil:
			out.Moves[i], done = booked, true
		}
	}
	return nil
}

func (c *Component) mayReoptimise(ctx context.Context, ask *circuitsv1.ReoptimiseRequest) error {
	if ask.GetId() == "" {
		return c.cfg.mayAll(ask.GetBy(), "name one circuit of your project")
	}
	r, err := c.ledger.Find(ctx, ask.GetId())
	if err != nil {
		return err
	}
	return c.cfg.may(ask.GetBy(), r.GetCircuit().GetTerms().GetProject())
}

// better is another path for a circuit, with what it gains.
type better struct {
	g, back *admit.Grant
	move    reoptimise.Move
}

// better is a path that a request for what is left of a circuit would get now; nil where the circuit may not move, or
// has that path. It is called while the book does not change.
func (b *book) better(r *circuitsv1.Record, now time.Time) *better {
	if r == nil {
		return nil // it is over, or nobody knows it
	}
	c, l := r.GetCircuit(), ledger.LifeOf(r)
	waits := l.State == life.Committed || l.State == life.Scheduled
	if !waits && l.State != life.Active || l.Gone || l.Open || c.GetTerms().GetVolumeBytes() > 0 || !b.there(c) || l.End <= now.Unix() {
		return nil
	}
	g, back, err := b.elsewhere(r, now, func(q admit.Request) (*admit.Grant, *admit.Grant, *admit.Refusal) {
		return b.instead(b.admit.DecideOnly, r, q)
	})
	if err != nil {
		return nil
	}
	is := proto.CloneOf(r)
	b.relocate(is, g, back)
	if len(b.notApart(r, is, nil, now)) > 0 {
		return nil // others that are to be apart from it are worth more than a better path
	}
	return &better{g: g, back: back, move: reoptimise.Move{ID: c.GetId(), Rate: highestRate(r), Had: b.measure(c), Has: b.measure(is.GetCircuit())}}
}

// measure is what the links of a circuit cost.
func (b *book) measure(c *circuitsv1.Circuit) (m reoptimise.Measure) {
	cost := b.graph.Weights(metricOf[c.GetTerms().GetMetric()])
	m.DelayKnown = true
	for _, h := range hops(c) {
		l, _ := b.graph.LinkIndex(h.GetLink())
		delay := b.graph.Weights(graph.Delay)[l]
		m.Cost += int64(cost[l])
		m.IGP, m.Hops = m.IGP+int64(b.graph.Weights(graph.IGP)[l]), m.Hops+1
		m.DelayKnown = m.DelayKnown && delay != graph.DelayUnknown
		m.Delay += int64(delay)
	}
	return m
}

// moveOf is a move as the API has it.
func (b *book) moveOf(r *circuitsv1.Record, to *better) *circuitsv1.PathMove {
	gain := to.move.Gain()
	return &circuitsv1.PathMove{
		Circuit: to.move.ID, Path: r.GetCircuit().GetPath(), BetterPath: b.hopsOf(to.g.Path), IgpGain: gain.IGP, IgpBefore: to.move.Had.IGP, HopsGain: gain.Hops,
		DelayGainMicroseconds: gain.Delay, FreedBitsPerSecond: gain.Freed,
		Metric: r.GetCircuit().GetTerms().GetMetric(), MetricBefore: to.move.Had.Cost, MetricGain: gain.Cost,
	}
}

// moveToBetter books a better path for a circuit, if there still is one that is worth it: nil where there is none.
func (c *Component) moveToBetter(ctx context.Context, id, by string, now time.Time) (booked *circuitsv1.PathMove, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err // etcd may take what is written for a caller who is gone, and nobody gets its answer
	}
	note := ""
	record, err := c.ledger.Rebook(ctx, id, func(was *circuitsv1.Record) (*circuitsv1.Record, error) {
		booked = nil
		if err := c.book.known(); err != nil {
			return nil, err
		}
		to := c.book.better(was, now)
		if to == nil || !to.move.Worth(c.cfg.Reoptimise.LeastGain) {
			return nil, nil
		}
		booked = c.book.moveOf(was, to)
		booked.Done = true
		var is *circuitsv1.Record
		is, note = c.book.movedBetter(was, to, by, now)
		return is, nil
	})
	if err != nil || booked == nil {
		return nil, err
	}
	t := record.GetCircuit().GetTerms()
	c.events.Publish(ctx, events.CircuitReoptimised, id, fmt.Sprintf("Circuit %s of project %s, %s to %s: %s (%s).", id, t.GetProject(), t.GetFrom(), t.GetTo(), note, by))
	return booked, nil
}

// movedBetter is a circuit's record on a better path. One that is active has the earlier path booked as well, until
// routers have the better one.
func (b *book) movedBetter(was *circuitsv1.Record, to *better, by string, now time.Time) (is *circuitsv1.Record, note string) {
	is, l := proto.CloneOf(was), ledger.LifeOf(was)
	b.relocate(is, to.g, to.back)
	if l.State == life.Active {
		l, _ = life.Next(l, life.Event{Kind: life.Updated, By: by})
		c := was.GetCircuit()
		is.Life.HadPath, is.Life.HadBackup, is.Life.HadBack = c.GetPath(), c.GetBackup(), c.GetBack()
	}
	note = fmt.Sprintf("%s%s, a better path: %s %d instead of %d", movedTo, b.pathText(is.GetCircuit().GetPath()),
		metricOf[was.GetCircuit().GetTerms().GetMetric()], to.move.Has.Cost, to.move.Had.Cost)
	l.Moves = []life.Move{{From: l.State, To: l.State, By: by, Note: note}}
	return ledger.With(is, l, now), note
}

// hadOf is what a record has booked besides while routers are given a better path: links that only the earlier has.
func hadOf(r *circuitsv1.Record) (g admit.Grant, has bool) {
	g = grantOf(r)
	now := map[string]bool{}
	for _, h := range hops(r.GetCircuit()) {
		now[h.GetLink()] = true
	}
	g.ID, g.Path, g.Backup = hadID(g.ID), nil, nil
	for _, h := range hadHops(r) {
		if !now[h.GetLink()] {
			g.Path = append(g.Path, h.GetLink())
		}
	}
	return g, len(g.Path) > 0
}

// hadID is the name of an earlier path in the book of admit.
func hadID(id string) string { return id + "/had" }
