package life

import (
	"fmt"
	"slices"
)

// machine is one call of Next.
type machine struct {
	Circuit
	event Event
	out   []Action
}

// Next is the circuit after an event, and what to do. It changes nothing that it is given. An event that is repeated
// has no effect, but for TakeUp, which repeats actions.
func Next(c Circuit, e Event) (Circuit, []Action) {
	m := &machine{Circuit: c, event: e}
	m.Moves = slices.Clone(c.Moves)
	switch e.Kind {
	case Commit, Extend, Release, Activate, Deactivate:
		m.asked(e)
	case Clock, Begin:
		m.clock(e)
	case PathSeen, PathLost, Proven, Missing:
		m.path(e)
	case ChangeVerified, ChangeUndone, ChangeFailed:
		if e.Attempt == m.Attempt && m.Work != Nothing {
			m.change(e)
		}
	case Rerouted, Updated, Displaced:
		m.rebooked(e)
	case TakeUp:
		m.again()
	}
	return m.Circuit, m.out
}

func (m *machine) do(a Action) { m.out = append(m.out, a) }

func (m *machine) refuse(format string, args ...any) {
	m.do(Action{Do: Refuse, Text: fmt.Sprintf(format, args...)})
}

// become makes a transition of the table. One that is not there is an error of this package.
func (m *machine) become(to State, by, note string) {
	if !allowed(m.State, to, m.event.Kind) {
		panic(fmt.Sprintf("no transition from %s to %s on %q", m.State, to, m.event.Kind))
	}
	m.Moves = append(m.Moves, Move{From: m.State, To: to, By: by, Note: note})
	m.State = to
}

// asked is what a person or a program wants. What is so already is not refused: the answer to an earlier request may
// have been lost.
func (m *machine) asked(e Event) {
	switch {
	case e.Kind == Release:
		m.release(e)
	case e.Kind == Activate || e.Kind == Deactivate:
		m.activation(e)
	case e.Kind == Commit && m.State != Held && m.State.Books():
	case m.State != Held:
		m.refuse("it is %s; request a new circuit", m.State)
	case e.Now >= m.Expires:
		m.refuse("its hold is over; request a new circuit")
	case e.Kind == Commit:
		m.become(Committed, e.By, e.Text)
	case e.Until == m.Expires:
	case e.Until < m.Expires:
		m.refuse("its hold lasts longer than that")
	case e.Until > m.Start:
		m.refuse("a hold is not extended beyond the circuit's start")
	case m.Extensions == MaxExtensions:
		m.refuse("a hold is extended %d times at most; commit it, or release it", MaxExtensions)
	default:
		m.Extensions++
		m.Expires = e.Until
	}
}

func (m *machine) release(e Event) {
	switch m.State {
	case Held, Committed, Scheduled:
		if m.Work != Nothing {
			m.become(Released, e.By, e.Text)
			return
		}
		m.become(Cancelled, e.By, e.Text)
	case Provisioning, Active, Interrupted, Deactivating:
		m.wind(e.By, e.Text)
	case Expired, Lapsed, Failed:
		m.refuse("it is %s; there is nothing to release", m.State)
	}
}

// activation lets a circuit onto routers, or takes it off and keeps its capacity.
func (m *machine) activation(e Event) {
	switch {
	case m.State == Held:
		m.refuse("it is held; commit it first")
	case !m.State.Books() || m.State == Releasing:
		m.refuse("it is %s; request a new circuit", m.State)
	case m.Deactivated == (e.Kind == Deactivate):
	case m.onRouters() && e.Kind == Deactivate:
		m.Deactivated = true
		m.become(Deactivating, e.By, e.Text)
		if !m.Open {
			m.remove()
		}
	default:
		m.Deactivated = e.Kind == Deactivate
		note := string(e.Kind) + "d"
		if e.Text != "" {
			note += ": " + e.Text
		}
		m.Moves = append(m.Moves, Move{From: m.State, To: m.State, By: e.By, Note: note})
	}
}

// onRouters: a change set that gives it to routers was requested, and is to stay.
func (m *machine) onRouters() bool {
	return m.State == Provisioning || m.State == Active || m.State == Interrupted
}

// clock does what is due. A time that arrives late, or earlier than the one before, does no harm: what is due by
// then was done, or is.
func (m *machine) clock(e Event) {
	over := e.Now >= m.End
	switch {
	case e.Kind == Begin && m.State == Scheduled && !m.Deactivated && e.Now >= m.Start && !over:
		m.become(Provisioning, Self, "")
		m.Before, m.Undone = m.Attempt, 0
		m.install()
	case e.Kind == Begin:
	case m.State == Held && (over || e.Now >= m.Expires):
		m.become(Expired, Self, "")
	case (m.State == Committed || m.State == Scheduled) && over && m.Work != Nothing:
		m.become(Released, Self, "its end came")
	case (m.State == Committed || m.State == Scheduled) && over:
		m.become(Lapsed, Self, "it was booked, and never put on routers")
	case (m.onRouters() || m.State == Deactivating) && over:
		m.wind(Self, "its end came")
	}
}

// wind up a circuit that routers may have. While the change set that gives it to them has not ended, another one would
// meet routers half way, so its end is waited for.
func (m *machine) wind(by, note string) {
	m.become(Releasing, by, note)
	if !m.Open {
		m.remove()
	}
}

func (m *machine) install() {
	m.Work, m.Open, m.Doubt = Installs, true, m.Gone
	m.Renewed = m.Renewed || m.Verified > 0
	m.Attempt++
	m.do(Action{Do: Install, Attempt: m.Attempt})
}

func (m *machine) remove() {
	m.Work, m.Open = Removes, true
	m.Attempt++
	m.do(Action{Do: Remove, Attempt: m.Attempt})
}

// path is what is known of the links.
func (m *machine) path(e Event) {
	switch {
	case e.Kind == PathLost && !m.Gone:
		m.Gone, m.Doubt = true, true
		if m.State == Scheduled {
			m.become(Committed, Self, e.Text)
		} else if m.State == Active {
			m.become(Interrupted, Self, e.Text)
		}
	case e.Kind == PathSeen:
		returned := m.Gone
		m.Gone = false
		if m.State == Committed {
			m.become(Scheduled, Self, "")
		} else if m.State == Interrupted && returned && !m.Open {
			m.back()
		}
	case m.State != Interrupted || e.Look != m.Looks || m.Gone || m.Open: // a look from before the path was lost
	case e.Kind == Proven:
		m.become(Active, Self, "its path is back")
	case e.Kind == Missing:
		m.become(Provisioning, Self, "its path is there, and routers do not have it")
		m.install()
	}
}

// back: the path of an interrupted circuit is there. Where routers may have it as it was before, a look at them would
// prove nothing.
func (m *machine) back() {
	if m.Verified == m.Attempt {
		m.prove()
		return
	}
	m.become(Provisioning, Self, "its path is there, and routers may have it as it was before")
	m.install()
}

// rebooked is what the holder of the record has booked instead of what the circuit had.
func (m *machine) rebooked(e Event) {
	switch {
	case m.Open:
		m.refuse("a change set of it is on its way; ask again when that has ended")
	case e.Kind == Updated && m.State == Active:
		m.Undone = 0
		m.install()
	case e.Kind == Displaced && m.State == Active:
		m.Undone = 0
		m.become(Provisioning, e.By, e.Text)
		m.install()
	case e.Kind == Updated || e.Kind == Displaced:
		m.refuse("it is %s", m.State)
	case m.State == Committed && m.Gone:
		m.Gone = false
		m.become(Scheduled, e.By, e.Text)
	case m.State == Interrupted && m.Gone:
		m.Gone, m.Undone = false, 0
		m.become(Provisioning, e.By, e.Text)
		m.install()
	default:
		m.refuse("it is %s, and its path is not gone", m.State)
	}
}

// prove has the path looked at under a new number: the answer to an older one may be from before the path was lost.
func (m *machine) prove() {
	m.Looks++
	m.do(Action{Do: Prove, Attempt: m.Attempt, Look: m.Looks})
}

// change is how the last change set ended, or what happened to it later.
func (m *machine) change(e Event) {
	if m.Work == Removes {
		m.removal(e)
		return
	}
	open := m.Open
	if !open && m.Attempt != m.Verified {
		return // it was undone, which is known
	}
	m.Open = false
	switch {
	case (m.State == Releasing || m.State == Deactivating) && open:
		m.wound(e)
	case e.Kind == ChangeVerified:
		m.verified(e, open)
	case e.Kind == ChangeUndone && open:
		m.undone(e)
	case e.Kind == ChangeUndone && (m.State == Active || m.State == Interrupted):
		m.byHand(e)
	case e.Kind == ChangeFailed && m.onRouters():
		m.wind(Self, e.Text)
	}
}

// verified: routers were read to have it as it is booked.
func (m *machine) verified(e Event, open bool) {
	m.Verified, m.Undone = m.Attempt, 0
	switch {
	case m.State == Provisioning:
		m.installed(e.Text)
	case open && (m.State == Active || m.State == Interrupted):
		m.do(Action{Do: Settle})
		if m.State == Interrupted && !m.Gone {
			m.prove()
		}
	}
}

// undone: no router has what the change set was to give it, and those that had the circuit have it as they did. One
// that was undone while the path was gone says nothing about the circuit.
func (m *machine) undone(e Event) {
	update := m.State == Active || m.State == Interrupted
	if !m.Gone {
		m.Undone++
	}
	switch {
	case !m.Gone && m.Undone < MaxInstalls && m.State != Interrupted:
		m.install()
	case update:
		m.Undone = 0
		m.do(Action{Do: Revert, Text: e.Text})
		if m.State == Interrupted && !m.Gone {
			m.back()
		}
	case m.Gone && m.had():
		m.become(Interrupted, Self, e.Text)
	case m.Gone:
		m.become(Committed, Self, e.Text)
	case m.had():
		m.wind(Self, e.Text)
	default:
		m.become(Failed, Self, e.Text)
	}
}

// byHand: the change set was verified, and a person rolled it back. He wants the circuit off routers, as far as this
// service can know.
func (m *machine) byHand(e Event) {
	if m.Renewed || m.Before > 0 {
		m.wind(Self, e.Text)
		return
	}
	m.become(Failed, Self, e.Text)
}

// installed: routers have it. If its path was lost since that was requested, it is unknown whether they were read
// before.
func (m *machine) installed(note string) {
	if !m.Gone && !m.Doubt {
		m.become(Active, Self, note)
		return
	}
	m.become(Interrupted, Self, "its path was lost while routers were given it")
	if !m.Gone {
		m.prove()
	}
}

// wound: the change set that gave the circuit to routers has ended, and no router is to have it any more. Undone, it
// left routers as they were: without the circuit only if they never had it, for the removal may have been rolled back.
func (m *machine) wound(e Event) {
	if e.Kind == ChangeUndone && !m.had() {
		m.become(m.rid(), Self, e.Text)
		m.settle()
		return
	}
	m.remove()
}

// had reports whether routers had it before its last change set, or may have.
func (m *machine) had() bool { return m.Verified > 0 || m.Before > 0 }

// settle: a circuit that keeps its capacity, and that no router has, is as it was booked last.
func (m *machine) settle() {
	if m.State == Committed && m.Renewed {
		m.do(Action{Do: Settle})
	}
}

// rid is what a circuit becomes when no router has it any more.
func (m *machine) rid() State {
	if m.State == Deactivating {
		return Committed
	}
	return Released
}

// removal ends a circuit, or is tried again for as long as it takes. Until the circuit's end, what routers may have is
// not given to others.
func (m *machine) removal(e Event) {
	under := m.State == Releasing || m.State == Deactivating
	switch {
	case e.Kind == ChangeVerified && under:
		m.Open = false
		m.become(m.rid(), Self, e.Text)
		m.settle()
	case e.Kind != ChangeVerified && under:
		m.remove()
	case e.Kind != ChangeVerified && m.State == Released:
		m.become(Releasing, Self, e.Text)
		m.remove()
	case e.Kind != ChangeVerified && (m.State == Committed || m.State == Scheduled):
		m.become(Deactivating, Self, e.Text)
		m.remove()
	}
}

// again repeats what may not have been done.
func (m *machine) again() {
	switch {
	case m.Open && m.Work == Installs:
		m.do(Action{Do: Install, Attempt: m.Attempt})
	case m.Open && m.Work == Removes:
		m.do(Action{Do: Remove, Attempt: m.Attempt})
	case m.State == Interrupted && !m.Gone && m.Verified == m.Attempt:
		m.do(Action{Do: Prove, Attempt: m.Attempt, Look: m.Looks})
	}
}
