package rollout

import (
	"slices"
	"strings"
)

// machine is one call of Next.
type machine struct {
	ChangeSet
	event Event
	out   []Action
}

// Next is the change set after an event, and what to do. It changes nothing that it is given.
func Next(cs ChangeSet, e Event) (ChangeSet, []Action) {
	m := &machine{ChangeSet: cs, event: e}
	m.Routers, m.Moves = slices.Clone(cs.Routers), slices.Clone(cs.Moves)
	switch e.Kind {
	case Plan, NoPlan:
		m.plan(e)
	case Approve, Apply, Begin, Abort, Rollback, Outdated:
		m.asked(e)
	case Answer:
		m.answer(e)
	default:
		m.run(e)
	}
	return m.ChangeSet, m.out
}

func (m *machine) do(a Action) { m.out = append(m.out, a) }

// refusals are the texts of refused requests, with the step to take instead.
var refusals = map[Kind]string{
	Approve:  "only a planned one can be approved",
	Apply:    "approve it first, or request a new one",
	Begin:    "it waits for nothing",
	Outdated: "it is not about to be applied",
	Abort:    "it is neither waiting nor being applied",
	Rollback: "only a verified one can be rolled back",
}

func (m *machine) asked(e Event) {
	if !Allows(m.State, e.Kind) {
		m.do(Action{Do: Refuse, Text: refusals[e.Kind]})
		return
	}
	m.By = e.By
	switch {
	case e.Kind == Approve:
		m.approve(e)
		return
	case e.Kind == Outdated:
		m.becomeFailed("nothing was sent: " + e.Text)
		return
	case e.Kind == Apply && e.Text != "":
		m.becomeScheduled(e.Text)
		return
	case e.Kind == Abort && m.State == Scheduled:
		m.becomeApproved(e.Text)
		return
	case e.Kind == Abort:
		m.becomeAborted(e.Text)
		return
	case e.Kind == Rollback:
		m.becomeRollingBack(e.Text)
	case m.Canary != "":
		m.becomeCanary()
	default:
		m.becomeApplying()
	}
	m.phase = locking
	m.do(Action{Do: Lock})
}

func (m *machine) approve(e Event) {
	if e.More {
		m.becomeSigned(e.Text)
		return
	}
	m.becomeApproved(e.Text)
}

func (m *machine) plan(e Event) {
	if m.State != Draft {
		return // another process planned it first
	}
	m.Routers = e.Routers
	switch {
	case e.Text != "":
		m.becomeUnplanned(e.Text)
	case len(m.Routers) == 0:
		m.becomeEmpty(e.LeftAlone)
	default:
		m.becomePlanned(e.Entries)
	}
}

// run is about the runner: it begins, and it ends with its locks.
func (m *machine) run(e Event) {
	switch {
	case e.Kind == TakeUp && m.State.InMotion() && m.phase == idle:
		m.phase, m.resumed, m.By = locking, true, Self
		m.do(Action{Do: Lock})
	case e.Kind == Unreadable && m.State.InMotion() && m.phase == idle:
		m.becomeFailed("look at its routers: " + e.Text)
	case e.Kind == Stop:
		m.halt(e.Text)
	case e.Kind == Locked && m.phase == locking && m.resumed:
		m.resume()
	case e.Kind == Locked && m.phase == locking && m.stopped != "":
		m.turnBack()
	case e.Kind == Locked && m.phase == locking:
		m.begin(checking)
	case e.Kind == Held && m.phase == locking && m.resumed:
		m.do(Action{Do: Lock, Again: true})
	case e.Kind == Held && m.phase == locking:
		m.cause = e.Text
		m.end()
	case e.Kind == Elsewhere || e.Kind == LockLost:
		m.stop()
	}
}

// stop leaves the change set as it is recorded, to the process that has the locks.
func (m *machine) stop() {
	m.phase = idle
	for i := range m.Routers {
		m.Routers[i].doing = ""
	}
}

// errRestarted is the cause of rolling back what the last process left pending.
const errRestarted = "the control plane restarted before it was verified"

// resume goes on from the record. What was being applied is rolled back. What every router has and shows is
// confirmed, unless the last runner had found a router that did not keep it: then it may have begun to undo the
// others.
func (m *machine) resume() {
	for i := range m.Routers {
		m.Routers[i].Error = causeIn(m.Routers[i].Error)
	}
	if m.State != Applied {
		m.cause = errRestarted
		m.turnBack()
		return
	}
	for i := range m.Routers {
		if s := m.Routers[i].State; s != RouterApplied && s != RouterConfirmed || m.isUndo(m.Routers[i]) {
			m.Routers[i].failed = m.Routers[i].Error != ""
			m.cause = errRestarted
		}
	}
	if m.cause != "" {
		m.turnBack()
		return
	}
	m.begin(confirming)
}

// begin enters a phase with its first routers; the caller has seen that no request is outstanding.
func (m *machine) begin(p phase) {
	m.phase, m.wave = p, 0
	m.enter()
}

func (m *machine) enter() {
	for i := range m.Routers {
		if r := &m.Routers[i]; !m.inWaves() || r.Wave == m.wave {
			m.enterRouter(r)
		}
	}
	m.advance()
}

// inWaves reports whether requests go to the routers of one wave only. The canary is verified and observed
// alone.
func (m *machine) inWaves() bool {
	alone := m.State == Canary && (m.phase == verifying || m.phase == watching)
	return alone || m.phase == committing || m.phase == confirming
}

// advance goes to the next wave or phase as soon as no request is outstanding. One router that failed rolls
// all back, after the others of its wave have answered.
func (m *machine) advance() {
	if slices.ContainsFunc(m.Routers, func(r Router) bool { return r.doing != "" }) {
		return
	}
	switch {
	case m.phase == returning:
		m.end()
	case slices.ContainsFunc(m.Routers, func(r Router) bool { return r.failed }), m.stopped != "" && m.phase != confirming:
		m.turnBack()
	case m.phase == committing && m.State == Canary:
		m.begin(verifying)
	case m.phase == verifying && m.State == Canary:
		m.begin(watching)
	case m.phase == watching:
		m.becomeRolling()
		m.phase = committing // of which wave 0 is done
		m.advance()
	case (m.phase == committing || m.phase == confirming) && m.wave < m.lastWave():
		m.wave++
		m.enter()
	case m.phase == checking:
		m.begin(committing)
	case m.phase == committing:
		m.begin(verifying)
	case m.phase == verifying:
		if m.State == Applying {
			m.becomeApplied()
		}
		m.begin(confirming)
	case m.phase == confirming:
		m.end()
	}
}

func (m *machine) lastWave() (last int) {
	for _, r := range m.Routers {
		last = max(last, r.Wave)
	}
	return last
}

// turnBack begins to undo what this run did. A failure was recorded with its router, so a process that takes the change
// set up meanwhile turns back, too.
func (m *machine) turnBack() {
	if causes := slices.DeleteFunc([]string{m.stopped, m.failures()}, func(s string) bool { return s == "" }); len(causes) > 0 {
		m.cause = strings.Join(causes, "; ")
	}
	for i := range m.Routers {
		m.Routers[i].failed, m.Routers[i].cause = false, m.Routers[i].Error
	}
	m.begin(returning)
}
