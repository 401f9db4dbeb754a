package states

import (
	"fmt"
	"slices"
	"testing"

	"github.com/millrace/millrace/internal/testkit/search"
)

// circuit is what services/circuits has for the connection.
type circuit byte

const (
	none circuit = iota
	holding
	booked
	ended
)

// world is a connection as it is recorded, the work that is queued with it, its circuit, and a requester who sends
// every message at any time.
type world struct {
	c       Connection
	work    []Event
	circuit circuit
	// on: the circuit is activated. carried: routers have it. full: a modification does not fit. late: the hold of a
	// modification is over.
	on, carried, full, late bool
	// done: the first work was done, and not recorded: the process may die.
	done     bool
	sends    int
	answered int
	asked    int
	broken   string
}

func (w *world) clone() *world {
	out := *w
	out.work = slices.Clone(w.work)
	return &out
}

func (w *world) key(b []byte) []byte {
	b = fmt.Appendf(b, "%s %s %s %v %d %d %v %d %v %v %v %v %v %d %d", w.c.Reservation, w.c.Provision, w.c.Lifecycle, w.c.Active, w.c.Version, w.c.Held,
		w.work, w.circuit, w.on, w.carried, w.full, w.late, w.done, w.sends, w.asked-w.answered)
	return b
}

// perform is the call to services/circuits, which may be repeated; it is the event that is recorded with it.
func (w *world) perform() Event {
	first := w.c.Version == 0
	switch w.work[0] {
	case Reserve:
		switch {
		case w.full:
			return ReserveRefused
		case first && w.circuit == none:
			w.circuit = holding
		}
		return ReserveDone
	case Commit:
		switch {
		case first && w.circuit == ended, !first && w.full:
			return CommitRefused
		case first && w.circuit == holding:
			w.circuit = booked
		}
		return CommitDone
	case Abort:
		if first && w.circuit != none {
			w.circuit = ended
		}
		return AbortDone
	case Provide:
		w.on = w.circuit == booked
		return ProvideDone
	case Release:
		w.on = false
		return ReleaseDone
	}
	if w.circuit != none {
		w.circuit, w.on = ended, false
	}
	return TerminateDone
}

// hear is an event that is repeated until it has no effect.
func (w *world) hear(e Event) {
	next, tell, err := Next(w.c, e)
	again, more, _ := Next(next, e)
	if err != nil || again != next || more != "" && tell != "" && e != ProvideDone && e != ReleaseDone && e != TerminateDone {
		w.broken = "an event that is told again has an effect: " + string(e)
	}
	w.c = next
}

func (w *world) steps() (out []search.Step[*world]) {
	add := func(fault bool, label string, do func(*world)) {
		n := w.clone()
		do(n)
		out = append(out, search.Step[*world]{Label: label, Fault: fault, World: n})
	}
	for _, e := range Asked {
		next, _, err := Next(w.c, e)
		// A requester may go on for ever; that every connection can end is shown with terminate alone.
		if err == nil && (w.sends > 0 || e == Terminate && (w.c.Lifecycle == Created || w.c.Lifecycle == Failed)) {
			add(e != Terminate || w.c.Lifecycle != Created && w.c.Lifecycle != Failed, "the requester sends "+string(e), func(n *world) {
				n.c, n.work, n.sends, n.asked = next, append(n.work, e), max(n.sends-1, 0), n.asked+1
			})
		}
	}
	if len(w.work) > 0 && !w.done {
		add(false, "circuits are requested "+string(w.work[0]), func(n *world) { n.perform(); n.done = true })
	}
	if w.done {
		add(true, "the process dies", func(n *world) { n.done = false })
		add(false, "it is recorded", func(n *world) {
			e := n.perform()
			next, tell, err := Next(n.c, e)
			if err != nil || tell == "" {
				n.broken = fmt.Sprintf("%s is not answered: %q, %v", n.work[0], tell, err)
			}
			n.c, n.work, n.done, n.answered, n.late = next, n.work[1:], false, n.answered+1, false
		})
	}
	w.world(add)
	return out
}

// world is what happens by itself.
func (w *world) world(add func(bool, string, func(*world))) {
	switch {
	case w.circuit == holding && len(w.work) == 0:
		add(true, "the hold is over", func(n *world) { n.circuit = ended })
	case w.c.Reservation == Held && w.c.Version > 0 && !w.late && len(w.work) == 0:
		add(true, "the hold of a modification is over", func(n *world) { n.late = true })
	}
	if w.circuit == booked {
		add(true, "the circuit fails", func(n *world) { n.circuit, n.on, n.carried = ended, false, false })
	}
	if w.carried != w.on {
		add(false, "routers change", func(n *world) { n.carried = n.on })
	}
	if !w.full {
		add(true, "others take the room", func(n *world) { n.full = true })
	}
	if len(w.work) > 0 {
		return
	}
	for e, is := range map[Event]bool{
		HoldOver: w.c.Version == 0 && w.circuit == ended || w.late, Up: w.carried, Down: !w.carried, Forced: w.circuit == ended,
	} {
		if next, _, _ := Next(w.c, e); is && next != w.c {
			add(false, "circuits are looked at: "+string(e), func(n *world) { n.hear(e) })
		}
	}
}

// look is what is broken where nothing is under way.
func (w *world) look() string {
	over := w.c.Lifecycle == Terminated
	switch {
	case w.broken != "":
		return w.broken
	case len(w.work) > 0:
		return ""
	case w.answered != w.asked:
		return "a request is not answered"
	case over && (w.circuit == holding || w.circuit == booked):
		return "terminated, and the capacity is kept"
	case w.circuit == booked && w.c.Version == 0:
		return "booked, and no version is in force"
	case w.on && w.c.Provision != Provisioned:
		return "activated, and not provisioned"
	case w.c.Provision == Provisioned && w.c.Lifecycle == Created && w.circuit == booked && !w.on:
		return "provisioned, and not activated"
	case w.c.Reservation == Start && w.c.Held != 0:
		return "nothing is held, and a version is"
	}
	return ""
}

// Every order of messages, work, crashes, time-outs, failures and refusals leaves a connection and its circuit of one
// mind, answers every request once, and can be terminated.
func TestSearch(t *testing.T) {
	rows := map[string]bool{}
	first := &world{c: New(), sends: 5}
	worlds, broken := search.Space[*world]{
		Steps: (*world).steps, Key: (*world).key, Broken: (*world).look,
		Ended: func(w *world) bool {
			return w.c.Lifecycle == Terminated && len(w.work) == 0 && !w.c.Active && !w.carried
		},
		Edge: func(from, to *world) {
			for _, m := range [][2]string{
				{string(from.c.Reservation), string(to.c.Reservation)}, {string(from.c.Provision), string(to.c.Provision)},
				{string(from.c.Lifecycle), string(to.c.Lifecycle)}, {activity(from.c), activity(to.c)},
			} {
				rows[m[0]+" "+m[1]] = true
			}
		},
	}.Run(first)
	if broken != "" {
		t.Fatal(broken)
	}
	for _, row := range Table {
		if !rows[row.From+" "+row.To] && row.To != string(PassedEndTime) && row.From != string(PassedEndTime) {
			t.Errorf("nothing led from %s to %s", row.From, row.To)
		}
	}
	t.Logf("%d worlds", worlds)
}
