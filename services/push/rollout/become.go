package rollout

import (
	"fmt"
	"strings"
)

// become makes a transition of the table. One that is not there is an error of this package.
func (m *machine) become(to State, by, note string) {
	on := m.event.Kind
	if m.State.InMotion() {
		on = ""
	}
	if !allowed(m.State, to, on) {
		panic(fmt.Sprintf("no transition from %s to %s on %q", m.State, to, on))
	}
	m.State = to
	m.Moves = append(m.Moves, Move{To: to, By: by, Note: note})
}

// becomePlanned: nothing was sent, and every router's changes are known.
func (m *machine) becomePlanned(entries int) {
	m.become(Planned, Self, fmt.Sprintf("%d config entries on %d routers", entries, len(m.Routers)))
}

// becomeEmpty: there is nothing to send, now or later.
func (m *machine) becomeEmpty(leftAlone []string) {
	note := "every router's running config is the intended one"
	if len(leftAlone) > 0 {
		note = "every other router's running config is the intended one; left alone: " + strings.Join(leftAlone, ", ")
	}
	m.become(Empty, Self, note)
}

// becomeUnplanned: nothing was sent, and nothing will be: an incomplete diff cannot be approved.
func (m *machine) becomeUnplanned(why string) { m.become(Failed, Self, why) }

// becomeAborted: nothing was sent, and nothing will be; a person does not want it.
func (m *machine) becomeAborted(note string) { m.become(Aborted, m.By, note) }

// becomeSigned: nothing was sent; a person has seen what would be, and another one has to.
func (m *machine) becomeSigned(note string) { m.become(Planned, m.By, note) }

// becomeApproved: nothing was sent; a person has seen what would be.
func (m *machine) becomeApproved(note string) { m.become(Approved, m.By, note) }

// becomeScheduled: nothing was sent, and it will be as soon as what it waits for is over.
func (m *machine) becomeScheduled(why string) { m.become(Scheduled, m.By, why) }

// becomeApplying: nothing was sent. From here on the record names the commit of every router that may hold one.
func (m *machine) becomeApplying() { m.become(Applying, m.By, "") }

// becomeCanary: nothing was sent. As becomeApplying, and only the canary is sent anything.
func (m *machine) becomeCanary() { m.become(Canary, m.By, m.Canary+" first") }

// becomeRolling: the canary holds the commit, shows what was intended and kept its SLO; no other was sent anything.
func (m *machine) becomeRolling() {
	m.become(Applying, Self, "canary "+m.Canary+" kept its SLO: "+m.figure)
}

// becomeApplied: every router holds the commit and shows what was intended, and none was sent a confirmation. From
// here on the process that takes it up confirms it.
func (m *machine) becomeApplied() {
	m.become(Applied, Self, "every router is verified; confirming")
}

// becomeVerified: every router was seen to keep the change.
func (m *machine) becomeVerified() {
	m.become(Verified, m.By, "confirmed on "+m.in(m.direction().done))
}

// becomeRollingBack: every router keeps the change, and nothing was sent to roll it back.
func (m *machine) becomeRollingBack(note string) {
	m.Attempt++
	m.become(RollingBack, m.By, note)
}

// becomeRolledBack: every router was seen to have its old configuration.
func (m *machine) becomeRolledBack(by, note string) { m.become(RolledBack, by, note) }

// becomeInForce: the rollback failed, and every router was seen to have the change still, or was not changed by it.
// Those that were not seen to have it are named: drift is about routers that lost the change while it was in force, and
// the rollback can be asked for again as soon as they have it, or answer.
func (m *machine) becomeInForce() {
	if unseen := m.unseen(); unseen != "" {
		m.become(Verified, Self, "not rolled back, nothing changed, and not seen to be in force on "+unseen+": "+m.cause)
		return
	}
	m.become(Verified, Self, inForceEverywhere+m.cause)
}

// inForceEverywhere is said only where every router was seen to have the change after the rollback was asked for.
const inForceEverywhere = "not rolled back, still in force everywhere: "

// becomeFailed: nothing was changed, or some router is not known to be in the state that the others are in.
func (m *machine) becomeFailed(note string) { m.become(Failed, Self, note) }

// end is the transition that fits what is known of the routers.
func (m *machine) end() {
	d, count := m.direction(), map[RouterState]int{}
	for _, r := range m.Routers {
		count[r.State]++
	}
	all := len(m.Routers)
	switch {
	case m.cause == "" && m.State == RollingBack:
		m.becomeRolledBack(m.By, "confirmed on "+m.in(d.done))
	case m.cause == "":
		m.becomeVerified()
	case count[RouterUnknown] > 0:
		m.becomeFailed(m.cause + "; not known to be in its old state: " + m.in(RouterUnknown))
	case m.State == RollingBack && count[d.undone] == all:
		m.becomeInForce()
	case m.State == RollingBack:
		m.becomeFailed("rolled back on some routers only, see each: " + m.cause)
	case count[d.done] > 0:
		m.becomeFailed(m.cause + "; could not be rolled back: " + m.in(d.done))
	case count[d.undone] > 0:
		m.becomeRolledBack(Self, m.cause+"; every router is back in its old state")
	default:
		m.becomeFailed(m.cause + "; no router was changed")
	}
	m.stop()
	m.do(Action{Do: Unlock})
}

// in names the routers in a state.
func (m *machine) in(s RouterState) string {
	return m.named(func(r Router) bool { return r.State == s })
}

// unseen names the routers that this runner has not seen as they were before the run.
func (m *machine) unseen() string { return m.named(func(r Router) bool { return !r.seen }) }

func (m *machine) named(which func(Router) bool) string {
	var out []string
	for _, r := range m.Routers {
		if which(r) {
			out = append(out, r.Name)
		}
	}
	return strings.Join(out, ", ")
}

// failures lists in one line what failed on which router.
func (m *machine) failures() string {
	var out []string
	for _, r := range m.Routers {
		if r.failed {
			out = append(out, r.Name+": "+strings.ReplaceAll(r.Error, "\n", "; "))
		}
	}
	return strings.Join(out, "; ")
}
