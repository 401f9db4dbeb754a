package nsi

import (
	"context"
	"slices"
	"time"

	"connectrpc.com/connect"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	nsiv1 "github.com/millrace/millrace/proto/gen/millrace/nsi/v1"
	"github.com/millrace/millrace/services/nsi/states"
)

// watched tells whether what becomes of a connection's circuits matters.
func watched(r *nsiv1.Connection) bool {
	return len(r.GetCircuits()) > 0 && (r.GetLifecycle() == string(states.Created) || r.GetActive())
}

// forgotten is whether a connection is over for long, and all its messages were delivered.
func forgotten(r *nsiv1.Connection, before time.Time) bool {
	ended := r.GetLifecycle() != string(states.Created) || r.GetVersion() == 0 && r.GetReservation() != string(states.Held)
	return ended && !r.GetActive() && len(r.GetWork()) == 0 && untold(r) == nil && r.GetChanged().AsTime().Before(before)
}

// look reads the circuits of a connection, and records what has become of it.
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
	if len(c.news(r, all, now)) == 0 {
		return nil
	}
	return c.update(ctx, r.GetId(), func(is *nsiv1.Connection) bool {
		news := c.news(is, all, now)
		for _, n := range news {
			c.happened(is, n.Event, n.text)
		}
		return len(news) > 0 && len(is.GetWork()) == len(r.GetWork())
	})
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

// news are the events that have an effect on a connection.
func (c *Component) news(r *nsiv1.Connection, all []*circuitsv1.Circuit, now time.Time) (out []news) {
	active, ended, text := true, false, ""
	for _, one := range all {
		active = active && one.GetState() == circuitsv1.State_STATE_ACTIVE
		if slices.Contains(over, one.GetState()) {
			ended, text = true, "circuit "+one.GetId()+" is "+one.GetState().String()
		}
	}
	end := timeOf(r.GetCriteria().GetEnd())
	due := map[states.Event]bool{
		states.HoldOver: r.GetVersion() == 0 && ended || r.GetHold() != nil && !now.Before(r.GetHold().AsTime()),
		states.Up:       active && len(all) > 0,
		states.Down:     !active,
		states.EndTime:  ended && !end.IsZero() && !now.Before(end),
		states.Forced:   ended && (end.IsZero() || now.Before(end)),
	}
	at := statesOf(r)
	for _, e := range []states.Event{states.HoldOver, states.Up, states.Down, states.EndTime, states.Forced} {
		if next, _, err := states.Next(at, e); due[e] && err == nil && next != at {
			at, out = next, append(out, news{e, text})
		}
	}
	return out
}
