package circuits

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/topo"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	pathsv1 "github.com/millrace/millrace/proto/gen/millrace/paths/v1"
	topologyv1 "github.com/millrace/millrace/proto/gen/millrace/topology/v1"
	"github.com/millrace/millrace/services/circuits/ledger"
	"github.com/millrace/millrace/services/circuits/life"
)

// errTransition: the circuit's state does not allow what was requested.
var errTransition = errors.New("refused")

// tell passes an event to a circuit, records the result and publishes it.
func (c *Component) tell(ctx context.Context, id string, e life.Event) (*circuitsv1.Record, error) {
	return c.tellOf(ctx, id, func(*circuitsv1.Record) life.Event { return e })
}

// tellOf is tell with an event that depends on the record, as whether its path is there.
func (c *Component) tellOf(ctx context.Context, id string, of func(*circuitsv1.Record) life.Event) (*circuitsv1.Record, error) {
	var moves []life.Move
	began := false
	record, err := c.ledger.Change(ctx, id, func(was *circuitsv1.Record) (*circuitsv1.Record, error) {
		next, actions := life.Next(ledger.LifeOf(was), of(was))
		if len(actions) > 0 && actions[0].Do == life.Refuse {
			return nil, fmt.Errorf("circuit %s: %w: %s", id, errTransition, actions[0].Text)
		}
		moves = next.Moves
		is := told(was, next, actions, c.deps.Now())
		began = was.GetCircuit().GetReady() == nil && is.GetCircuit().GetReady() != nil && !is.GetCircuit().GetLate()
		if proto.Equal(was, is) {
			return nil, nil
		}
		return is, nil
	})
	if err != nil {
		return nil, err
	}
	if began {
		c.metrics.starts.WithLabelValues(onTime).Inc()
	}
	c.publish(ctx, record, moves)
	return record, nil
}

// publish raises the events of a circuit's transitions.
func (c *Component) publish(ctx context.Context, r *circuitsv1.Record, moves []life.Move) {
	id, t := r.GetCircuit().GetId(), r.GetCircuit().GetTerms()
	for _, m := range moves {
		kind, told := events.Circuit(ledger.StateOf(m.To))
		if !told {
			continue
		}
		text := fmt.Sprintf("Circuit %s of project %s, %s to %s, is %s (%s)", id, t.GetProject(), t.GetFrom(), t.GetTo(), m.To, m.By)
		if m.Note != "" {
			text += ": " + m.Note
		}
		c.events.Publish(ctx, kind, id, text+".")
	}
}

// look passes the time to every circuit, and whether its path is in the topology, where that changes anything.
func (c *Component) look(ctx context.Context) {
	now := c.deps.Now().Unix()
	type due struct {
		id string
		of func(*circuitsv1.Record) life.Event
	}
	var all []due
	clock := func(*circuitsv1.Record) life.Event { return life.Event{Kind: life.Clock, Now: now} }
	err := c.ledger.Look("", func(records func(func(*circuitsv1.Record) bool)) {
		for r := range records {
			if !ledger.Books(r) {
				continue
			}
			if changes(ledger.LifeOf(r), clock(r)) {
				all = append(all, due{r.GetCircuit().GetId(), clock})
			}
			if changes(ledger.LifeOf(r), c.book.path(r)) {
				all = append(all, due{r.GetCircuit().GetId(), c.pathEvent})
			}
		}
	})
	for _, d := range all {
		if _, told := c.tellOf(ctx, d.id, d.of); told != nil && ctx.Err() == nil {
			err = errors.Join(err, told)
		}
	}
	if err = errors.Join(err, c.restore(ctx), c.vacate(ctx)); err != nil && ctx.Err() == nil && !errors.Is(err, ledger.ErrNotRead) {
		c.deps.Log.WarnContext(ctx, "circuits are looked at again", "error", err)
	}
}

// changes reports whether an event has an effect.
func changes(was life.Circuit, e life.Event) bool {
	is, _ := life.Next(was, e)
	moved := len(is.Moves) > 0
	return moved || is.Gone != was.Gone
}

// path is the event about a circuit's path; none while the topology is not known.
func (b *book) path(r *circuitsv1.Record) life.Event {
	switch {
	case b.seen() != nil:
		return life.Event{}
	case b.there(r.GetCircuit()) && !slices.ContainsFunc(slices.Concat(r.GetLife().GetHadPath(), r.GetLife().GetHadBack()), b.isGone):
		return life.Event{Kind: life.PathSeen}
	}
	return pathLost()
}

func (c *Component) pathEvent(r *circuitsv1.Record) (e life.Event) {
	if err := c.ledger.Look("", func(func(func(*circuitsv1.Record) bool)) { e = c.book.path(r) }); err != nil {
		return life.Event{}
	}
	return e
}

// followTopology reads links until Stop, and at once where a circuit uses one that is not known.
func (c *Component) followTopology(ctx context.Context) {
	var last *topologyv1.TopologySnapshot
	logged := ""
	for {
		snapshot, err := c.readTopology(ctx, last)
		switch {
		case err == nil:
			last, logged = snapshot, ""
		case ctx.Err() == nil && err.Error() != logged:
			logged = err.Error()
			c.deps.Log.WarnContext(ctx, "topology of circuits not read", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-c.book.missed:
			last = nil
		case <-time.After(c.cfg.Topology):
		}
	}
}

// readTopology makes the book anew if the links have changed.
func (c *Component) readTopology(ctx context.Context, last *topologyv1.TopologySnapshot) (*topologyv1.TopologySnapshot, error) {
	asked := time.Now()
	limited, cancel := context.WithTimeout(ctx, c.cfg.TopologyAge)
	defer cancel()
	r, err := c.deps.Paths.Topology(limited, connect.NewRequest(&pathsv1.TopologyRequest{}))
	if err != nil {
		return nil, fmt.Errorf("read the topology: %w", err)
	}
	asked = asked.Add(-r.Msg.GetAge().AsDuration()) // services/paths may answer although the network was not read
	now := proto.CloneOf(r.Msg.GetSnapshot())
	now.Time, now.Source = nil, ""
	if len(now.GetNodes()) == 0 {
		return nil, errors.New("it has no router yet")
	}
	if last != nil && proto.Equal(last, now) {
		return last, c.ledger.Look("", func(func(func(*circuitsv1.Record) bool)) { c.book.read = asked })
	}
	snapshot, err := topo.FromProto(now)
	if err != nil {
		return nil, err
	}
	graph := topo.NewGraph(snapshot)
	looked := c.ledger.Look("", func(all func(func(*circuitsv1.Record) bool)) {
		if err = c.book.rebuild(graph, all); err == nil {
			c.book.read = asked
		}
	})
	if err := errors.Join(looked, err); err != nil {
		return nil, err
	}
	c.look(ctx)
	return now, nil
}

// forget deletes what is over for long, and claims whose time is over.
func (c *Component) forget(ctx context.Context) {
	now := c.deps.Now()
	var old []string
	err := c.ledger.Look("", func(all func(func(*circuitsv1.Record) bool)) {
		for r := range all {
			history := r.GetCircuit().GetHistory()
			if last := history[len(history)-1].GetTime().AsTime(); !ledger.Books(r) && now.Sub(last) > c.cfg.Keep {
				old = append(old, r.GetCircuit().GetId())
			}
		}
	})
	if errors.Is(err, ledger.ErrNotRead) {
		return
	}
	if err := errors.Join(err, c.ledger.Forget(ctx, slices.Clip(old)), c.ledger.Sweep(ctx, now), c.ledger.ForgetMaintenance(ctx, c.forgotten(now))); err != nil && ctx.Err() == nil {
		c.deps.Log.WarnContext(ctx, "circuits that are over are not forgotten yet", "error", err)
	}
}

// forgotten reports which maintenance is over, or removed, for long.
func (c *Component) forgotten(now time.Time) func(*circuitsv1.Maintenance) bool {
	return func(m *circuitsv1.Maintenance) bool {
		last := m.GetEnd().AsTime()
		if m.GetRemoved() != nil {
			last = m.GetRemoved().AsTime()
		}
		return now.Sub(last) > c.cfg.Keep
	}
}
