package nsi

import (
	"context"
	"slices"
	"strconv"
	"time"

	"connectrpc.com/connect"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	nsiv1 "github.com/millrace/millrace/proto/gen/millrace/nsi/v1"
	"github.com/millrace/millrace/services/nsi/states"
)

// watched reports whether the states of a connection's circuits matter: those that hold or have booked capacity.
func watched(r *nsiv1.Connection) bool {
	wanted := r.GetVersion() > 0 || r.GetReservation() == string(states.Held)
	return len(r.GetCircuits()) > 0 && (wanted && r.GetLifecycle() == string(states.Created) || r.GetActive())
}

// forgotten is whether a connection is over for long, and all its messages were delivered.
func forgotten(r *nsiv1.Connection, before time.Time) bool {
	ended := r.GetLifecycle() != string(states.Created) || r.GetVersion() == 0 && r.GetReservation() != string(states.Held)
	return ended && !r.GetActive() && len(r.GetWork()) == 0 && untold(r) == nil && r.GetChanged().AsTime().Before(before)
}

// look reads the circuits of a connection, and records its new state.
func (c *Component) look(ctx context.Context, r *nsiv1.Connection) error {
	var all []*circuitsv1.Circuit
	for _, id := range r.GetCircuits() {
		got, err := c.deps.Circuits.Get(ctx, connect.NewRequest(&circuitsv1.GetRequest{Id: id}))
		switch {
		case connect.CodeOf(err) == connect.CodeNotFound:
			all = append(all, &circuitsv1.Circuit{Id: id, State: circuitsv1.State_STATE_RELEASED})
		case err != nil:
			return err
		default:
			all = append(all, got.Msg.GetCircuit())
		}
	}
	now := c.deps.Now()
	found := c.news(r, all, now)
	if len(found) == 0 {
		return nil
	}
	if slices.ContainsFunc(found, func(n news) bool { return n.Event == states.Forced }) {
		if err := c.giveUpRest(ctx, r); err != nil {
			return err
		}
	}
	return c.update(ctx, r.GetId(), func(is *nsiv1.Connection) bool {
		news := c.news(is, all, now)
		for _, n := range news {
			c.happened(is, n.Event, n.text)
		}
		return len(news) > 0 && len(is.GetWork()) == len(r.GetWork())
	})
}

// giveUpRest releases what is left of a connection that the network gave up: half of it is of no use.
func (c *Component) giveUpRest(ctx context.Context, r *nsiv1.Connection) error {
	no, err := c.giveUp(ctx, r, "another circuit of the connection is over")
	if no != nil {
		c.deps.Log.ErrorContext(ctx, "a circuit of an NSI connection that is over stays booked", "connection", r.GetId(), "error", no)
	}
	return err
}

// news is an event of the circuits of a connection.
type news struct {
	states.Event
	text string
}

// over are the states in which a circuit has its capacity no more, or is about to lose it.
var over = []circuitsv1.State{
	circuitsv1.State_STATE_RELEASING, circuitsv1.State_STATE_RELEASED, circuitsv1.State_STATE_EXPIRED, circuitsv1.State_STATE_CANCELLED,
	circuitsv1.State_STATE_LAPSED, circuitsv1.State_STATE_FAILED,
}

// overSince is when a circuit has ended, by the clock of services/circuits; otherwise where its history does not say.
func overSince(one *circuitsv1.Circuit, otherwise time.Time) time.Time {
	for _, t := range slices.Backward(one.GetHistory()) {
		if !slices.Contains(over, t.GetState()) {
			break
		}
		otherwise = t.GetTime().AsTime()
	}
	return otherwise
}

// heldFor is how many seconds a version was to be held: the first one by its circuits, a later one by this provider.
func (c *Component) heldFor(r *nsiv1.Connection, all []*circuitsv1.Circuit) string {
	held := c.cfg.Hold
	for _, one := range all {
		if h := one.GetHistory(); r.GetVersion() == 0 && r.GetHold() != nil && len(h) > 0 {
			held = r.GetHold().AsTime().Sub(h[0].GetTime().AsTime())
		}
	}
	return strconv.Itoa(int(held.Round(time.Second) / time.Second))
}

// news are the events that have an effect on a connection. What is over before the connection's end was given up; that
// is decided by the clock that ended it, which is not the one of now.
func (c *Component) news(r *nsiv1.Connection, all []*circuitsv1.Circuit, now time.Time) (out []news) {
	active, text := true, ""
	var since time.Time
	for _, one := range all {
		active = active && one.GetState() == circuitsv1.State_STATE_ACTIVE
		if !slices.Contains(over, one.GetState()) {
			continue
		}
		if s := overSince(one, now); since.IsZero() || s.Before(since) {
			since, text = s, "circuit "+one.GetId()+" is "+one.GetState().String()
		}
	}
	ended := !since.IsZero()
	end := timeOf(r.GetCriteria().GetEnd())
	due := map[states.Event]bool{
		states.HoldOver: r.GetVersion() == 0 && ended || r.GetVersion() > 0 && r.GetHold() != nil && !now.Before(r.GetHold().AsTime()),
		states.Up:       active && len(all) > 0,
		states.Down:     !active,
		states.EndTime:  ended && !end.IsZero() && !since.Before(end),
		states.Forced:   ended && (end.IsZero() || since.Before(end)),
	}
	texts := map[states.Event]string{states.Forced: text, states.HoldOver: c.heldFor(r, all)}
	at := statesOf(r)
	for _, e := range []states.Event{states.HoldOver, states.Up, states.Down, states.EndTime, states.Forced} {
		if next, _, err := states.Next(at, e); due[e] && err == nil && next != at {
			at, out = next, append(out, news{e, texts[e]})
		}
	}
	return out
}
