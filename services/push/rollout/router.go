package rollout

import (
	"fmt"
	"slices"
	"strings"
)

// direction is what differs between applying and rolling back, which are the same steps with the sides exchanged.
type direction struct {
	name string
	// done is a router's state after its confirmation, undone after its commit was rolled back, refused after it
	// refused.
	done, undone, refused RouterState
}

func (cs ChangeSet) direction() direction {
	if cs.State == RollingBack {
		return direction{"rollback", RouterRolledBack, RouterConfirmed, RouterConfirmed}
	}
	return direction{"apply", RouterConfirmed, RouterRolledBack, RouterFailed}
}

// commitID is of this run's commit to a router: the same for every runner that takes the run up.
func (cs ChangeSet) commitID(r Router) string {
	id := cs.ID + "-" + r.Name + "-" + cs.direction().name
	if cs.State == RollingBack && cs.Attempt > 1 {
		id = fmt.Sprintf("%s-%d", id, cs.Attempt)
	}
	return id
}

func (cs ChangeSet) isUndo(r Router) bool { return r.Commit == cs.commitID(r)+"-undo" }

// ours reports whether this run meant a commit for the router.
func (cs ChangeSet) ours(r Router) bool { return r.Commit == cs.commitID(r) || cs.isUndo(r) }

func (m *machine) ask(r *Router, a Action) {
	r.ticket++
	r.doing = a.Do
	a.Router, a.Ticket = r.Name, r.ticket
	if a.Commit == "" {
		a.Commit = r.Commit
	}
	m.do(a)
}

// enterRouter is a router's first step in a phase; none where it has nothing to do.
func (m *machine) enterRouter(r *Router) {
	switch m.phase {
	case checking:
		m.ask(r, Action{Do: Check})
	case committing:
		// The id is recorded before the commit is sent.
		r.State, r.Commit, r.Error, r.Checks = RouterUnknown, m.commitID(*r), "", nil
		m.ask(r, Action{Do: Send})
	case verifying:
		m.ask(r, Action{Do: Verify})
	case watching:
		m.ask(r, Action{Do: Watch})
	case confirming:
		if r.State != m.direction().done { // confirmed before a restart
			m.ask(r, Action{Do: Confirm, Until: Expiry})
		}
	case returning:
		m.enterReturn(r)
	}
}

func (m *machine) enterReturn(r *Router) {
	waits := r.State == RouterApplied || r.State == RouterUnknown
	switch {
	case !m.ours(*r): // it was sent nothing
	case waits && !m.isUndo(*r):
		m.ask(r, Action{Do: Cancel, Until: Overdue})
	case waits || r.State == m.direction().done:
		m.ask(r, Action{Do: Look, Until: Overdue})
	}
}

// answer passes a router's answer to the step that sent the request. An answer to an older request is
// ignored.
func (m *machine) answer(e Event) {
	i := slices.IndexFunc(m.Routers, func(r Router) bool { return r.Name == e.Router })
	if i < 0 || m.Routers[i].doing == "" || m.Routers[i].ticket != e.Ticket {
		return
	}
	r := &m.Routers[i]
	did := r.doing
	r.doing = ""
	switch m.phase {
	case checking:
		m.checked(r, e)
	case committing:
		m.committed(r, did, e)
	case verifying:
		m.shown(r, e)
	case watching:
		m.watched(r, e)
	case confirming:
		m.kept(r, did, e)
	case returning:
		m.returned(r, did, e)
	}
	m.advance()
}

func (m *machine) fail(r *Router, s RouterState, why string) {
	r.State, r.Error, r.failed = s, why, true
}

func (m *machine) checked(r *Router, e Event) {
	if r.seen = e.Result == Done; !r.seen {
		r.Checks = nil // of when it had the change
		m.fail(r, m.direction().refused, e.Text)
	}
}

// committed: a commit whose answer was lost is looked for, and sent once more under the same id if it is not there.
func (m *machine) committed(r *Router, did Do, e Event) {
	switch {
	case did == Send && e.Result == Done, did == Look && e.Result == Done && e.Side == After:
		r.State = RouterApplied
	case did == Send && e.Result == Refused && !r.resent:
		m.fail(r, m.direction().refused, "refused: "+e.Text)
	case e.Late:
		m.fail(r, RouterUnknown, lostText(e))
	case did == Look && e.Result == Done && e.Side == Before && !e.Pending && m.stopped != "": // and it is not sent again
	case did == Look && e.Result == Done && e.Side == Before && !e.Pending && !r.resent:
		r.resent = true
		m.ask(r, Action{Do: Send})
	default: // a second one that was refused may mean that the first has arrived
		m.ask(r, Action{Do: Look, Again: did == Look, Until: Patience})
	}
}

func lostText(e Event) string {
	if e.Text != "" {
		return e.Text
	}
	return "no answer, and the commit is not there"
}

func (m *machine) shown(r *Router, e Event) {
	r.Checks = e.Checks
	if e.Result != Done {
		m.fail(r, r.State, "verification failed: "+e.Text)
	}
}

func (m *machine) watched(r *Router, e Event) {
	if m.figure = e.Text; e.Result != Done {
		m.fail(r, r.State, "as canary: "+e.Text)
	}
}

// kept: a router keeps the change when it confirms that, or when nothing is pending and the change is
// there.
func (m *machine) kept(r *Router, did Do, e Event) {
	seen := did == Look && e.Result == Done
	switch {
	case did == Confirm && e.Result == Done, seen && !e.Pending && e.Side == After:
		r.State, r.Error = m.direction().done, ""
	case seen && !e.Pending && e.Side == Before:
		m.fail(r, RouterUnknown, "the router rolled the change back before it was confirmed")
	case seen && !e.Pending:
		m.fail(r, RouterUnknown, e.Text)
	case e.Late && did == Look:
		m.fail(r, RouterUnknown, "not confirmed in time: "+waitText(e))
	case did == Confirm:
		m.ask(r, Action{Do: Look, Until: Expiry})
	default:
		m.ask(r, Action{Do: Confirm, Again: true, Until: Expiry})
	}
}

func waitText(e Event) string {
	if e.Pending {
		return "the commit is still pending"
	}
	return e.Text
}

// maxUndos bounds how often the reversed changes are sent: each time the router may roll them back.
const maxUndos = 2

// returned: a router is back when it was seen with nothing pending and without the change, or keeps the reversed one.
// That a commit was cancelled is not enough: one that arrived late may have been pending on top of the change. One that
// is pending although its time is over is cancelled once more: the router answers.
func (m *machine) returned(r *Router, did Do, e Event) {
	seen := did == Look && e.Result == Done
	pending := seen && e.Pending && !(e.Late && r.overdue)
	r.overdue = r.overdue || pending && e.Late
	switch {
	case did == Confirm && e.Result == Done, seen && !e.Pending && e.Side == Before:
		r.State, r.Error, r.seen = m.direction().undone, r.cause, true
	case did == SendUndo && e.Result == Done, pending && m.isUndo(*r):
		m.ask(r, Action{Do: Confirm, Again: seen, Until: Overdue})
	case pending:
		m.ask(r, Action{Do: Cancel, Again: true, Until: Overdue})
	case seen && !e.Pending && e.Side == After:
		m.undo(r)
	case seen && !e.Pending:
		m.giveUp(r, e.Text)
	case e.Late && did == Look:
		m.giveUp(r, waitText(e))
	default:
		m.silent(r, e)
		m.ask(r, Action{Do: Look, Again: did == Look, Until: Overdue})
	}
}

// silent records, while a router does not answer, that no one has to act.
func (m *machine) silent(r *Router, e Event) {
	switch {
	case e.Result != Lost || strings.Contains(r.Error, silence):
	case r.cause == "":
		r.Error = silence + e.Text
	default:
		r.Error = r.cause + "; " + silence + e.Text
	}
}

// causeIn is the rest of an error beside the router's silence.
func causeIn(text string) string {
	cause, _, _ := strings.Cut(text, silence)
	return strings.TrimSuffix(cause, "; ")
}

const silence = "does not answer; it rolls the commit back by itself when its time is over: "

// undo sends the reversed changes to a router that keeps the change. The change is this run's only if a
// confirmation may have been sent: while a change set is being applied none was, and a change that is there
// was confirmed or made by another program.
func (m *machine) undo(r *Router) {
	switch {
	case m.State == Applying || m.State == Canary:
		m.giveUp(r, "it has the new configuration and no commit is pending, so somebody else keeps it")
	case r.undos == maxUndos:
		r.State, r.Error = m.direction().done, "could not be rolled back, look at the router: it refuses, or does not keep the old configuration"
	default:
		r.undos++
		r.State, r.Commit = RouterUnknown, m.commitID(*r)+"-undo"
		m.ask(r, Action{Do: SendUndo})
	}
}

func (m *machine) giveUp(r *Router, why string) {
	r.State, r.Error = RouterUnknown, "could not be rolled back, look at the router: "+why
}
