package life

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/millrace/millrace/internal/testkit/search"
)

// This file is the world around the machine, small enough to visit all of it: a record, two replicas of the service
// that write it, the change sets of one circuit, its routers, its path and a clock. Whatever may happen next is a step.

// The moments of the model's circuit.
const (
	expires, start, end = 1, 2, 3
)

// outcome of a change set.
type outcome byte

const (
	absent outcome = iota
	open
	verified
	undone
	failed
)

// changeSet is one of the circuit's, by its attempt.
type changeSet struct {
	work    Work
	outcome outcome
	// form is what it gives to routers, was what they had before.
	form, was form
}

// form is the circuit as it is booked once: on one of two paths, and how often it was booked anew before. 0 is none.
type form byte

func (f form) path() int { return int(f & 1) }

// next is another form, on the same path or on the other one.
func (f form) next(other bool) form {
	f += 2
	if other {
		f ^= 1
	}
	return f
}

// replica is one process.
type replica struct {
	// knows is the record as it was last read, with the form that is booked.
	knows  Circuit
	booked form
	// asks are actions that are to be performed, heard are events that are to be delivered.
	asks  []Action
	heard []Event
	// of is the form whose path was heard of.
	of form
}

type world struct {
	record   Circuit
	replicas [2]replica
	// booked is what the record has; before is what it has booked beside that, while routers are given an update.
	booked, before form
	// changes are the change sets that were requested; has is the form that routers have.
	changes []changeSet
	has     form
	// paths that are there.
	paths [2]bool
	// hand: a person rolled back the removal of the circuit, or an update.
	hand bool
	// rolled: he rolled back whatever.
	rolled bool
	now    int64
	faults int
	// alone: the second replica never does anything.
	alone bool
	// stays: nobody deactivates it.
	stays bool
	// updates: its holder is to be sent updates.
	updates bool
	// others have change sets, whose plans may leave it out.
	others bool
	broken string
}

// limits of the model, which tests remove to see that the search notices.
type limits struct {
	// blind: a record is written whatever is recorded. twice: asking twice makes two change sets. deaf: what becomes of
	// a change set after it was verified is not followed. hasty: a change set is requested before the record says so.
	blind, twice, deaf, hasty bool
}

func (w *world) clone() *world {
	out := *w
	out.changes = slices.Clone(w.changes)
	for i := range out.replicas {
		r := &out.replicas[i]
		r.asks, r.heard = slices.Clone(r.asks), slices.Clone(r.heard)
	}
	return &out
}

func recorded(c Circuit) Circuit {
	c.Moves = nil
	return c
}

func same(a, b Circuit) bool {
	a.Moves, b.Moves = nil, nil
	return bytes.Equal(circuitKey(a, nil), circuitKey(b, nil))
}

func circuitKey(c Circuit, b []byte) []byte {
	b = append(append(append(append(b, c.State...), 0), c.Work...), 0)
	flags := byte(0)
	for i, f := range []bool{c.Open, c.Gone, c.Doubt, c.Deactivated, c.Renewed} {
		if f {
			flags |= 1 << i
		}
	}
	return append(b, flags, byte(c.Expires), byte(c.Extensions), byte(c.Attempt), byte(c.Looks), byte(c.Before), byte(c.Verified), byte(c.Undone))
}

// tell passes an event to a replica: it decides, records if the record is the one it knows, and only then asks.
func (w *world) tell(p int, e Event, l limits) {
	r := &w.replicas[p]
	next, actions := Next(r.knows, e)
	next.Moves = nil
	if again, more := Next(next, e); e.Kind != TakeUp && (!same(again, next) || len(more) > 0 && more[0].Do != Refuse) {
		w.broken = "an event that is told again has an effect: " + string(e.Kind)
	}
	if len(actions) > 0 && actions[0].Do == Refuse {
		return
	}
	if l.hasty {
		r.asks = append(r.asks, actions...)
	}
	if !l.blind && !w.current(r) {
		w.read(r)
		return
	}
	if !l.hasty {
		r.asks = append(r.asks, actions...)
	}
	w.judge(e, next, actions)
	w.record = next
	w.rebook(e, actions)
	w.read(r)
}

// current reports whether a replica knows the record as it is.
func (w *world) current(r *replica) bool { return same(r.knows, w.record) && r.booked == w.booked }

func (w *world) read(r *replica) { r.knows, r.booked = w.record, w.booked }

// onOtherPath is the text of an update that is on the other path.
const onOtherPath = "on the other path"

// rebook is what the caller writes into the record together with the answer.
func (w *world) rebook(e Event, actions []Action) {
	switch e.Kind {
	case Rerouted, Displaced:
		w.booked = w.booked.next(true)
	case Updated:
		w.before, w.booked = w.booked, w.booked.next(e.Text == onOtherPath)
	}
	for _, a := range actions {
		switch a.Do {
		case Settle:
			w.before = 0
		case Revert:
			w.before, w.booked = 0, w.before
		}
	}
}

// judge compares a record that is about to be written with the rest of the world.
func (w *world) judge(e Event, next Circuit, actions []Action) {
	does := func(do Do) bool { return slices.ContainsFunc(actions, func(a Action) bool { return a.Do == do }) }
	switch {
	case does(Settle) && w.has > 0 && w.has == w.before && !w.hand:
		w.broken = "what it had before its update is given away, and routers have it"
	case does(Revert) && w.has > 0 && w.has == w.booked:
		w.broken = "its update is given away, and routers have it"
	case (e.Kind == Rerouted || e.Kind == Displaced) && slices.ContainsFunc(w.changes, func(c changeSet) bool { return c.outcome == open }):
		w.broken = "booked anew while a change set is on its way"

	case w.record.State == Held && next.State == Committed && e.Now >= w.record.Expires:
		w.broken = "committed after its hold"
	case w.record.State.Books() && !next.State.Books() && !w.hand && (w.has > 0 || slices.ContainsFunc(w.changes, func(c changeSet) bool { return c.outcome == open })):
		w.broken = "its capacity is given away, and routers may have it"
	case next.State == Provisioning && w.record.State == Scheduled && (e.Now < start || e.Now >= end):
		w.broken = "put on routers outside of its window"
	case next.State == Provisioning && w.record.State == Scheduled && w.record.Deactivated:
		w.broken = "put on routers though it is deactivated"
	}
}

// facts are the events that a replica gets when it reads its surroundings.
func (w *world) facts(l limits) (out []Event) {
	if c := w.last(); c.outcome > open && !(l.deaf && !w.record.Open) {
		kind := map[outcome]Kind{verified: ChangeVerified, undone: ChangeUndone, failed: ChangeFailed}[c.outcome]
		out = append(out, Event{Kind: kind, Attempt: w.record.Attempt})
	}
	kind := PathLost
	if w.paths[w.booked.path()] && (w.before == 0 || w.paths[w.before.path()]) {
		kind = PathSeen
	}
	if w.has == 0 && w.record.State == Active && !w.record.Open && w.last().outcome == verified {
		out = append(out, Event{Kind: PathLost}) // no change set in force has it
	}
	return append(out, Event{Kind: kind}, Event{Kind: Clock, Now: w.now}, Event{Kind: Begin, Now: w.now})
}

// last is the change set of the record.
func (w *world) last() changeSet {
	if w.record.Attempt == 0 || w.record.Attempt > len(w.changes) {
		return changeSet{}
	}
	return w.changes[w.record.Attempt-1]
}

// look is what is broken in a world in which nobody has anything to tell that is not recorded.
func (w *world) look() string {
	if w.broken != "" {
		return w.broken
	}
	openOnes := 0
	for _, c := range w.changes {
		if c.outcome == open {
			openOnes++
		}
	}
	if openOnes > 1 {
		return "two change sets of one circuit at once"
	}
	for _, f := range w.facts(limits{}) {
		if next, _ := Next(w.record, f); !same(next, w.record) {
			return ""
		}
	}
	switch {
	case w.record.State == Active && !w.carries() && !(w.record.Open && w.rolled):
		return "told active, and nothing carries it"
	case (w.record.State == Committed || w.record.State == Scheduled) && w.has > 0:
		return string(w.record.State) + ", and routers have it"
	case !w.record.State.Books() && w.has > 0:
		return string(w.record.State) + ", and routers have it"
	}
	return ""
}

// carries reports whether routers carry the circuit as it is booked.
func (w *world) carries() bool {
	return w.has > 0 && (w.has == w.booked || w.has == w.before) && w.paths[w.has.path()]
}

// ended: the circuit is over, its window too, and nobody has anything to do.
func (w *world) ended() bool {
	idle := func(r replica) bool { return len(r.asks)+len(r.heard) == 0 }
	return !w.record.State.Books() && w.has == 0 && w.now == end && idle(w.replicas[0]) && idle(w.replicas[1])
}

func (w *world) key(b []byte) []byte {
	flags := byte(0)
	for i, f := range []bool{w.paths[0], w.paths[1], w.hand, w.rolled} {
		if f {
			flags |= 1 << i
		}
	}
	b = append(circuitKey(w.record, b), flags, byte(w.now), byte(w.faults), byte(w.has), byte(w.booked), byte(w.before))
	for _, c := range w.changes {
		b = append(b, c.work[0], byte(c.outcome), byte(c.form), byte(c.was))
	}
	for _, r := range w.replicas {
		b = append(circuitKey(r.knows, append(b, 255)), byte(r.booked), 255)
		for _, a := range r.asks {
			b = append(append(b, a.Do...), byte(a.Attempt), byte(a.Look))
		}
		b = append(b, 255)
		for _, e := range r.heard {
			b = append(append(b, e.Kind...), byte(e.Attempt), byte(e.Look), byte(e.Now))
		}
		b = append(b, byte(r.of))
	}
	return b
}

// steps are all things that may happen next; those that are faults use one of the faults that are left.
func (w *world) steps(l limits) (out []search.Step[*world]) {
	add := func(fault bool, label string, do func(n *world)) {
		if fault && w.faults == 0 {
			return
		}
		n := w.clone()
		if fault {
			n.faults--
		}
		do(n)
		out = append(out, search.Step[*world]{Label: label, Fault: fault, World: n})
	}
	if w.now < end {
		add(false, "time passes", func(n *world) { n.now++ })
	}
	for i, there := range w.paths {
		if there {
			add(true, fmt.Sprintf("a link of path %d fails", i), func(n *world) { n.paths[i] = false })
		} else {
			add(false, fmt.Sprintf("path %d is back", i), func(n *world) { n.paths[i] = true })
		}
	}
	if w.others && w.has > 0 && w.record.State == Active && !slices.ContainsFunc(w.changes, func(c changeSet) bool { return c.outcome == open }) {
		add(true, "a change set of others leaves it out", func(n *world) { n.has = 0 })
	}
	for i, c := range w.changes {
		w.changeSteps(i, c, add)
	}
	for p := range w.replicas {
		w.replicaSteps(p, l, add)
	}
	return out
}

func (w *world) changeSteps(i int, c changeSet, add func(bool, string, func(*world))) {
	what := fmt.Sprintf("change set %d, which %s it, ", i+1, c.work)
	end := func(o outcome, has form) func(*world) {
		return func(n *world) { n.changes[i].outcome, n.changes[i].was, n.has = o, w.has, has }
	}
	switch {
	case c.outcome == open:
		add(false, what+"is verified", end(verified, c.form))
		add(true, what+"is rolled back", end(undone, w.has))
		add(true, what+"fails, and is in force", end(failed, max(c.form, w.has)))
		add(true, what+"fails, and is not in force", end(failed, 0))
	case c.outcome == verified && i == len(w.changes)-1:
		add(true, what+"is rolled back by hand", func(n *world) {
			n.changes[i].outcome, n.has, n.hand, n.rolled = undone, c.was, c.was > 0, true
		})
		add(true, what+"is rolled back by hand on some routers", func(n *world) {
			n.changes[i].outcome, n.has, n.hand, n.rolled = failed, max(c.form, c.was), c.was > 0, true
		})
	}
}

func (w *world) replicaSteps(p int, l limits, add func(bool, string, func(*world))) {
	if p == 1 && w.alone {
		return
	}
	r, name := w.replicas[p], fmt.Sprintf("replica %d ", p+1)
	tell := func(fault bool, label string, e Event) {
		add(fault, name+label, func(n *world) { n.tell(p, e, l) })
	}
	if p == 0 {
		if w.record.State == Held {
			tell(false, "commits", Event{Kind: Commit, By: "holder", Now: w.now})
			tell(true, "extends", Event{Kind: Extend, Now: w.now, Until: start})
		}
		tell(true, "is asked for a release", Event{Kind: Release, By: "holder"})
		if Allows(w.record.State, Activate) && !w.stays {
			tell(!w.record.Deactivated, "is asked for an activation", Event{Kind: Activate, By: "holder"})
			tell(true, "is asked for a deactivation", Event{Kind: Deactivate, By: "holder"})
		}
		if r.knows.State == Active && !r.knows.Open && w.updates {
			tell(true, "is asked for an update", Event{Kind: Updated})
			if w.paths[1-r.booked.path()] {
				tell(true, "is asked for a better path", Event{Kind: Updated, Text: onOtherPath})
			}
			if w.paths[1-r.booked.path()] {
				tell(true, "books the other path, since another circuit has this one", Event{Kind: Displaced})
			}
		}
	}
	if r.knows.Gone && !r.knows.Open && w.paths[1-r.booked.path()] && (r.knows.State == Committed || r.knows.State == Interrupted) {
		tell(false, "books the other path", Event{Kind: Rerouted})
	}
	if !w.current(&r) {
		add(false, name+"reads the record", func(n *world) { n.read(&n.replicas[p]) })
	}
	if len(r.heard) == 0 {
		for _, f := range w.facts(l) {
			if next, _ := Next(r.knows, f); !same(next, r.knows) {
				add(false, name+"hears "+string(f.Kind), func(n *world) { n.replicas[p].heard, n.replicas[p].of = []Event{f}, n.booked })
			}
		}
	} else {
		add(false, name+"records "+string(r.heard[0].Kind), func(n *world) {
			n.replicas[p].heard, n.replicas[p].of = nil, 0
			if path := r.heard[0].Kind == PathSeen || r.heard[0].Kind == PathLost; !path || r.of == r.booked {
				n.tell(p, r.heard[0], l)
			}
		})
	}
	for i, a := range r.asks {
		add(false, fmt.Sprintf("%s asks to %s %d", name, a.Do, a.Attempt), func(n *world) {
			n.replicas[p].asks = slices.Delete(n.replicas[p].asks, i, i+1)
			n.perform(p, a, l)
		})
	}
	if len(r.asks)+len(r.heard) > 0 {
		add(true, name+"dies", func(n *world) { n.replicas[p] = replica{knows: n.record, booked: n.booked} })
	} else if _, again := Next(w.record, Event{Kind: TakeUp}); len(again) > 0 && (w.last().outcome == absent || again[0].Do == Prove) && !w.asked(again[0]) {
		add(false, name+"takes it up", func(n *world) { n.read(&n.replicas[p]); n.tell(p, Event{Kind: TakeUp}, l) })
	}
}

// asked reports whether some replica is about to perform an action.
func (w *world) asked(a Action) bool {
	return slices.Contains(w.replicas[0].asks, a) && (w.alone || slices.Contains(w.replicas[1].asks, a))
}

// perform is an action: a change set is made of an attempt that has none, and routers are read.
func (w *world) perform(p int, a Action, l limits) {
	switch {
	case a.Do == Prove:
		// What routers show is that some form of the circuit is on a path that is there, or none.
		if w.has == 0 {
			w.replicas[p].heard = []Event{{Kind: Missing, Look: a.Look}}
		} else if w.paths[w.has.path()] {
			w.replicas[p].heard = []Event{{Kind: Proven, Look: a.Look}}
		}
	case a.Attempt > len(w.changes) || l.twice:
		c := changeSet{work: map[Do]Work{Install: Installs, Remove: Removes}[a.Do], outcome: open}
		if c.work == Installs {
			c.form = w.booked
		}
		w.changes = append(w.changes, c)
	}
}
