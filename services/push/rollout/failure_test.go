package rollout

import (
	"strings"
	"testing"
)

// sent is a change set of two routers at once that were sent their commits.
func sent(t *testing.T, s State) ChangeSet {
	t.Helper()
	cs, kind := changeSet(Approved, routers(RouterPlanned, RouterPlanned)...), Apply
	if s == RollingBack {
		cs, kind = changeSet(Verified, routers(RouterConfirmed, RouterConfirmed)...), Rollback
	}
	for _, e := range []Event{{Kind: kind, By: "bob"}, {Kind: Locked}, answer("r1", Done), answer("r2", Done)} {
		e.Ticket = ticket(cs, e.Router)
		cs, _ = Next(cs, e)
	}
	return cs
}

func TestWhatFailsIsRolledBack(t *testing.T) {
	no := func(router, why string) Event { return Event{Kind: Answer, Router: router, Result: Refused, Text: why} }
	pendingLate := func(router string) Event {
		return Event{Kind: Answer, Router: router, Result: Done, Pending: true, Side: After, Late: true}
	}
	for name, script := range map[string][]step{
		"one refuses the commit": {
			{answer("r1", Done), ""},
			{no("r2", "no space"), "cancel r1 c-r1-apply overdue"},
			{answer("r1", Done), "look r1 c-r1-apply overdue"},
			{looked("r1", Before), "rolled-back by services/push: r2: refused: no space; every router is back in its old state; unlock"},
		},
		"both refuse the commit": {
			{no("r1", "no space"), ""},
			{no("r2", "no space"), "failed by services/push: r1: refused: no space; r2: refused: no space; no router was changed; unlock"},
		},
		"one does not show the change": {
			{answer("r1", Done), ""},
			{answer("r2", Done), "verify r1 c-r1-apply; verify r2 c-r2-apply"},
			{answer("r1", Done), ""},
			{no("r2", "old weights"), "cancel r1 c-r1-apply overdue; cancel r2 c-r2-apply overdue"},
			{answer("r1", Done), "look r1 c-r1-apply overdue"},
			{answer("r2", Done), "look r2 c-r2-apply overdue"},
			{looked("r1", Before), ""},
			{looked("r2", Before), "rolled-back by services/push: r2: verification failed: old weights; every router is back in its old state; unlock"},
		},
		"a commit whose answer is lost was not there": {
			{answer("r1", Lost), "look r1 c-r1-apply patience"},
			{looked("r1", Before), "send r1 c-r1-apply"},
			{answer("r1", Done), ""},
			{answer("r2", Done), "verify r1 c-r1-apply; verify r2 c-r2-apply"},
		},
		"a commit whose answer is lost is there": {
			{answer("r1", Lost), "look r1 c-r1-apply patience"},
			{looked("r1", After), ""},
			{answer("r2", Done), "verify r1 c-r1-apply; verify r2 c-r2-apply"},
		},
		"a second commit is refused: the first may have come": {
			{answer("r1", Lost), "look r1 c-r1-apply patience"},
			{looked("r1", Before), "send r1 c-r1-apply"},
			{no("r1", "pending"), "look r1 c-r1-apply patience"},
			{looked("r1", After), ""},
			{answer("r2", Done), "verify r1 c-r1-apply; verify r2 c-r2-apply"},
		},
		"it is unknown whether the commit is there": {
			{answer("r2", Done), ""},
			{answer("r1", Lost), "look r1 c-r1-apply patience"},
			{Event{Kind: Answer, Router: "r1", Result: Lost, Late: true, Text: "timeout"}, "cancel r1 c-r1-apply overdue; cancel r2 c-r2-apply overdue"},
			{answer("r1", Done), "look r1 c-r1-apply overdue"},
			{answer("r2", Done), "look r2 c-r2-apply overdue"},
			{looked("r2", Before), ""},
			{Event{Kind: Answer, Router: "r1", Result: Lost, Late: true, Text: "timeout"}, "failed by services/push: r1: timeout; not known to be in its old state: r1; unlock"},
		},
		"it stops": {
			{answer("r1", Done), ""},
			{Event{Kind: Stop, Text: "frozen"}, ""},
			{answer("r2", Lost), "look r2 c-r2-apply patience"},
			{looked("r2", Before), "cancel r1 c-r1-apply overdue; cancel r2 c-r2-apply overdue"},
			{answer("r1", Done), "look r1 c-r1-apply overdue"},
			{looked("r1", Before), ""},
			{answer("r2", Done), "look r2 c-r2-apply overdue"},
			{looked("r2", Before), "rolled-back by services/push: frozen; every router is back in its old state; unlock"},
		},
		"it stops twice": {
			{answer("r1", Done), ""},
			{Event{Kind: Stop, Text: "frozen"}, ""},
			{Event{Kind: Stop, Text: "frozen again"}, ""},
			{no("r2", "no space"), "cancel r1 c-r1-apply overdue"},
			{answer("r1", Done), "look r1 c-r1-apply overdue"},
			{Event{Kind: Stop, Text: "frozen too late"}, ""},
			{looked("r1", Before), "rolled-back by services/push: frozen; r2: refused: no space; every router is back in its old state; unlock"},
		},
		"one did not keep the change": {
			{answer("r1", Done), ""},
			{answer("r2", Done), "verify r1 c-r1-apply; verify r2 c-r2-apply"},
			{answer("r1", Done), ""},
			{answer("r2", Done), "applied by services/push: every router is verified; confirming; confirm r1 c-r1-apply expiry; confirm r2 c-r2-apply expiry"},
			{answer("r1", Done), ""},
			{answer("r2", Lost), "look r2 c-r2-apply expiry"},
			{looked("r2", Before), "look r1 c-r1-apply overdue; cancel r2 c-r2-apply overdue"},
			{looked("r1", After), "send-undo r1 c-r1-apply-undo"},
			{answer("r1", Done), "confirm r1 c-r1-apply-undo overdue"},
			{answer("r1", Done), ""},
			{answer("r2", Done), "look r2 c-r2-apply overdue"},
			{looked("r2", Before), "rolled-back by services/push: r2: the router rolled the change back before it was confirmed; every router is back in its old state; unlock"},
		},
		"it answers after its time, and the commit is pending still": {
			{answer("r1", Done), ""},
			{no("r2", "no space"), "cancel r1 c-r1-apply overdue"},
			{answer("r1", Lost), "look r1 c-r1-apply overdue"},
			{pendingLate("r1"), "cancel r1 c-r1-apply overdue again"},
			{answer("r1", Done), "look r1 c-r1-apply overdue"},
			{looked("r1", Before), "rolled-back by services/push: r2: refused: no space; every router is back in its old state; unlock"},
		},
		"it answers after its time, and cancels nothing": {
			{answer("r1", Done), ""},
			{no("r2", "no space"), "cancel r1 c-r1-apply overdue"},
			{answer("r1", Lost), "look r1 c-r1-apply overdue"},
			{pendingLate("r1"), "cancel r1 c-r1-apply overdue again"},
			{no("r1", "busy"), "look r1 c-r1-apply overdue"},
			{pendingLate("r1"), "failed by services/push: r2: refused: no space; not known to be in its old state: r1; unlock"},
		},
		"the old configuration is pending after its time": {
			{answer("r1", Done), ""},
			{answer("r2", Done), "verify r1 c-r1-apply; verify r2 c-r2-apply"},
			{answer("r1", Done), ""},
			{answer("r2", Done), "applied by services/push: every router is verified; confirming; confirm r1 c-r1-apply expiry; confirm r2 c-r2-apply expiry"},
			{answer("r1", Done), ""},
			{answer("r2", Lost), "look r2 c-r2-apply expiry"},
			{looked("r2", Before), "look r1 c-r1-apply overdue; cancel r2 c-r2-apply overdue"},
			{answer("r2", Done), "look r2 c-r2-apply overdue"},
			{looked("r2", Before), ""},
			{looked("r1", After), "send-undo r1 c-r1-apply-undo"},
			{answer("r1", Lost), "look r1 c-r1-apply-undo overdue"},
			{pendingLate("r1"), "confirm r1 c-r1-apply-undo overdue again"},
			{answer("r1", Done), "rolled-back by services/push: r2: the router rolled the change back before it was confirmed; every router is back in its old state; unlock"},
		},
		"somebody else keeps it": {
			{answer("r1", Done), ""},
			{no("r2", "no space"), "cancel r1 c-r1-apply overdue"},
			{answer("r1", Done), "look r1 c-r1-apply overdue"},
			{looked("r1", After), "failed by services/push: r2: refused: no space; not known to be in its old state: r1; unlock"},
		},
		"somebody else changed it": {
			{answer("r1", Done), ""},
			{no("r2", "no space"), "cancel r1 c-r1-apply overdue"},
			{answer("r1", Done), "look r1 c-r1-apply overdue"},
			{looked("r1", Other), "failed by services/push: r2: refused: no space; not known to be in its old state: r1; unlock"},
		},
		"it refuses the old configuration": {
			{answer("r1", Done), ""},
			{answer("r2", Done), "verify r1 c-r1-apply; verify r2 c-r2-apply"},
			{answer("r1", Done), ""},
			{answer("r2", Done), "applied by services/push: every router is verified; confirming; confirm r1 c-r1-apply expiry; confirm r2 c-r2-apply expiry"},
			{answer("r1", Done), ""},
			{answer("r2", Lost), "look r2 c-r2-apply expiry"},
			{looked("r2", Before), "look r1 c-r1-apply overdue; cancel r2 c-r2-apply overdue"},
			{answer("r2", Done), "look r2 c-r2-apply overdue"},
			{looked("r2", Before), ""},
			{looked("r1", After), "send-undo r1 c-r1-apply-undo"},
			{no("r1", "locked"), "look r1 c-r1-apply-undo overdue"},
			{looked("r1", After), "send-undo r1 c-r1-apply-undo"},
			{no("r1", "locked"), "look r1 c-r1-apply-undo overdue"},
			{looked("r1", After), "failed by services/push: r2: the router rolled the change back before it was confirmed; could not be rolled back: r1; unlock"},
		},
	} {
		told(t, name, sent(t, Applying), script)
	}
}

// Between the first confirmation and the last, nothing stops it.
func TestConfirmations(t *testing.T) {
	late := func(do Result, text string, pending bool) Event {
		return Event{Kind: Answer, Router: "r1", Result: do, Late: true, Text: text, Pending: pending}
	}
	pending := Event{Kind: Answer, Router: "r1", Result: Done, Pending: true, Side: After}
	for name, c := range map[string]struct {
		script []step
		err    string
	}{
		"a stop that comes too late": {[]step{
			{Event{Kind: Stop, Text: "frozen"}, ""},
			{answer("r1", Lost), "look r1 c-r1-apply expiry"},
			{looked("r1", Before), ""},
		}, "the router rolled the change back before it was confirmed"},
		"it is pending still": {[]step{{answer("r1", Lost), "look r1 c-r1-apply expiry"}, {pending, "confirm r1 c-r1-apply expiry again"}, {answer("r1", Done), ""}}, ""},
		"it is there":         {[]step{{answer("r1", Lost), "look r1 c-r1-apply expiry"}, {looked("r1", After), ""}}, ""},
		"another one's change is there": {[]step{
			{answer("r1", Lost), "look r1 c-r1-apply expiry"},
			{Event{Kind: Answer, Router: "r1", Result: Done, Side: Other, Text: "a third configuration"}, ""},
		}, "a third configuration"},
		"it says so after its time":      {[]step{{late(Done, "", false), ""}}, ""},
		"it does not say so in its time": {[]step{{late(Lost, "timeout", false), "look r1 c-r1-apply expiry"}, {late(Lost, "timeout", false), ""}}, "not confirmed in time: timeout"},
		"it is pending after its time":   {[]step{{answer("r1", Lost), "look r1 c-r1-apply expiry"}, {late(Done, "", true), ""}}, "not confirmed in time: the commit is still pending"},
		"its disk is full":               {[]step{{Event{Kind: Answer, Router: "r1", Result: Refused, Text: "no space"}, "look r1 c-r1-apply expiry"}, {pending, "confirm r1 c-r1-apply expiry again"}, {looked("r1", After), ""}}, ""},
		"nobody can look":                {[]step{{answer("r1", Lost), "look r1 c-r1-apply expiry"}, {answer("r1", Lost), "confirm r1 c-r1-apply expiry again"}}, ""},
	} {
		cs := sent(t, Applying)
		for _, e := range []Event{answer("r1", Done), answer("r2", Done), answer("r1", Done), answer("r2", Done)} {
			e.Ticket = ticket(cs, e.Router)
			cs, _ = Next(cs, e)
		}
		if cs = told(t, name, cs, c.script); cs.Routers[0].Error != c.err {
			t.Errorf("%s: error %q, want %q", name, cs.Routers[0].Error, c.err)
		}
	}
}

func TestARollbackThatFails(t *testing.T) {
	no := Event{Kind: Answer, Router: "r1", Result: Refused, Text: "locked"}
	for name, script := range map[string][]step{
		"both refuse": {
			{no, ""},
			{Event{Kind: Answer, Router: "r2", Result: Refused, Text: "locked"}, "verified by services/push: not rolled back, still in force everywhere: r1: refused: locked; r2: refused: locked; unlock"},
		},
		"one refuses": {
			{no, ""},
			{answer("r2", Done), "cancel r2 c-r2-rollback overdue"},
			{answer("r2", Done), "look r2 c-r2-rollback overdue"},
			{looked("r2", Before), "verified by services/push: not rolled back, still in force everywhere: r1: refused: locked; unlock"},
		},
		"both roll back": {
			{answer("r1", Done), ""},
			{answer("r2", Done), "verify r1 c-r1-rollback; verify r2 c-r2-rollback"},
			{answer("r1", Done), ""},
			{answer("r2", Done), "confirm r1 c-r1-rollback expiry; confirm r2 c-r2-rollback expiry"},
			{answer("r1", Done), ""},
			{answer("r2", Done), "rolled-back by bob: confirmed on r1, r2; unlock"},
		},
	} {
		told(t, name, sent(t, RollingBack), script)
	}
	done := []Event{
		answer("r1", Done), answer("r2", Done), answer("r1", Done), answer("r2", Done), answer("r1", Done),
		{Kind: Answer, Router: "r2", Result: Lost}, looked("r2", Before), answer("r2", Done), looked("r2", Before),
	}
	cs := sent(t, RollingBack)
	for _, e := range done {
		e.Ticket = ticket(cs, e.Router)
		cs, _ = Next(cs, e)
	}
	told(t, "one is back for good", cs, []step{
		{looked("r1", After), "send-undo r1 c-r1-rollback-undo"},
		{no, "look r1 c-r1-rollback-undo overdue"},
		{looked("r1", After), "send-undo r1 c-r1-rollback-undo"},
		{no, "look r1 c-r1-rollback-undo overdue"},
		{looked("r1", After), "failed by services/push: rolled back on some routers only, see each: r2: the router rolled the change back before it was confirmed; unlock"},
	})
	again := changeSet(Verified, routers(RouterConfirmed)...)
	again.Attempt = 1
	told(t, "a second rollback", again, []step{
		{Event{Kind: Rollback, By: "ann"}, "rolling-back by ann: ; lock"},
		{Event{Kind: Locked}, "check r1"},
		{answer("r1", Done), "send r1 c-r1-rollback-2"},
	})
}

// A rollback that ends before anything was sent changes nothing, and says of which routers it is not known whether they
// have the change: a check that fails is not one that has seen it.
func TestARollbackThatIsNotSentSaysWhatWasNotSeen(t *testing.T) {
	no := func(router string) Event {
		return Event{Kind: Answer, Router: router, Result: Refused, Text: "it has lost the change"}
	}
	const not = "verified by services/push: not rolled back, nothing changed, and not seen to be in force on "
	for name, script := range map[string][]step{
		"one has lost the change": {
			{Event{Kind: Locked}, "check r1; check r2"},
			{answer("r1", Done), ""},
			{no("r2"), not + "r2: r2: it has lost the change; unlock"},
		},
		"both have": {
			{Event{Kind: Locked}, "check r1; check r2"},
			{no("r1"), ""},
			{no("r2"), not + "r1, r2: r1: it has lost the change; r2: it has lost the change; unlock"},
		},
		"one does not answer": {
			{Event{Kind: Locked}, "check r1; check r2"},
			{Event{Kind: Answer, Router: "r1", Result: Lost, Text: "timeout"}, ""},
			{answer("r2", Done), not + "r1: r1: timeout; unlock"},
		},
		"it stops before all have answered": {
			{Event{Kind: Locked}, "check r1; check r2"},
			{answer("r2", Done), ""},
			{Event{Kind: Stop, Text: "frozen"}, not + "r1: frozen; unlock"},
		},
		"another change set has a router": {
			{Event{Kind: Held, Text: "r1 is of c2"}, not + "r1, r2: r1 is of c2; unlock"},
		},
	} {
		cs, _ := Next(changeSet(Verified, routers(RouterConfirmed, RouterConfirmed)...), Event{Kind: Rollback, By: "bob"})
		told(t, name, told(t, name, cs, script), []step{{Event{Kind: Rollback, By: "ann", Text: "again"}, "rolling-back by ann: again; lock"}})
	}
	cs := changeSet(RollingBack, routers(RouterUnknown, RouterConfirmed)...)
	cs.Routers[0].Commit, cs.Routers[1].Commit = "c-r1-rollback", "c-r2-apply"
	told(t, "one was sent it by a process that ended", cs, []step{
		{Event{Kind: TakeUp}, "lock"},
		{Event{Kind: Locked}, "cancel r1 c-r1-rollback overdue"},
		{answer("r1", Done), "look r1 c-r1-rollback overdue"},
		{looked("r1", Before), not + "r2: the control plane restarted before it was verified; unlock"},
	})
}

// A process that takes up what another one began has nothing but the record.
func TestTakenUp(t *testing.T) {
	record := func(s State, rs ...Router) ChangeSet {
		cs := changeSet(s, rs...)
		for i := range cs.Routers {
			cs.Routers[i].Commit = cs.commitID(cs.Routers[i])
		}
		return cs
	}
	lost := record(Applied, routers(RouterApplied, RouterUnknown)...)
	lost.Routers[1].Error = "the router rolled the change back before it was confirmed"
	undo := record(Applied, routers(RouterApplied, RouterApplied)...)
	undo.Routers[1].Commit += "-undo"
	silent := record(Applied, routers(RouterApplied, RouterApplied)...)
	silent.Routers[0].Error = silence + "timeout"
	for name, c := range map[string]struct {
		cs   ChangeSet
		want string
	}{
		"sent, and not verified":       {record(Applying, routers(RouterApplied, RouterUnknown)...), "cancel r1 c-r1-apply overdue; cancel r2 c-r2-apply overdue"},
		"verified everywhere":          {record(Applied, routers(RouterApplied, RouterApplied)...), "confirm r1 c-r1-apply expiry; confirm r2 c-r2-apply expiry"},
		"confirmed on one":             {record(Applied, routers(RouterConfirmed, RouterApplied)...), "confirm r2 c-r2-apply expiry"},
		"not kept by one":              {lost, "cancel r1 c-r1-apply overdue; cancel r2 c-r2-apply overdue"},
		"undone on one":                {undo, "cancel r1 c-r1-apply overdue; look r2 c-r2-apply-undo overdue"},
		"verified, and one was silent": {silent, "confirm r1 c-r1-apply expiry; confirm r2 c-r2-apply expiry"},
		"confirmed everywhere":         {record(Applied, routers(RouterConfirmed, RouterConfirmed)...), "verified by services/push: confirmed on r1, r2; unlock"},
		"nothing was sent":             {changeSet(Applying, routers(RouterPlanned)...), "failed by services/push: the control plane restarted before it was verified; no router was changed; unlock"},
		"a rollback that was sent":     {record(RollingBack, routers(RouterUnknown, RouterConfirmed)...), "cancel r1 c-r1-rollback overdue"},
	} {
		told(t, name, c.cs, []step{{Event{Kind: TakeUp}, "lock"}, {Event{Kind: Locked}, c.want}})
	}
	told(t, "why it is rolled back is in the record", lost, []step{
		{Event{Kind: TakeUp}, "lock"},
		{Event{Kind: Locked}, "cancel r1 c-r1-apply overdue; cancel r2 c-r2-apply overdue"},
		{answer("r1", Done), "look r1 c-r1-apply overdue"},
		{answer("r2", Done), "look r2 c-r2-apply overdue"},
		{looked("r1", Before), ""},
		{looked("r2", Before), "rolled-back by services/push: r2: the router rolled the change back before it was confirmed; every router is back in its old state; unlock"},
	})
}

func TestACanaryThatFails(t *testing.T) {
	cs := changeSet(Approved, routers(RouterPlanned, RouterPlanned)...)
	cs.Routers[1].Wave, cs.Canary = 1, "r1"
	for _, e := range []Event{{Kind: Apply, By: "bob"}, {Kind: Locked}, answer("r1", Done), answer("r2", Done), answer("r1", Done)} {
		e.Ticket = ticket(cs, e.Router)
		cs, _ = Next(cs, e)
	}
	loses := Event{Kind: Answer, Router: "r1", Result: Refused, Text: "3 % loss"}
	told(t, "it does not keep its SLO", cs, []step{
		{answer("r1", Done), "watch r1 c-r1-apply"},
		{loses, "cancel r1 c-r1-apply overdue"},
		{answer("r1", Done), "look r1 c-r1-apply overdue"},
		{looked("r1", Before), "rolled-back by services/push: r1: as canary: 3 % loss; every router is back in its old state; unlock"},
	})
	told(t, "it is another's now", cs, []step{
		{answer("r1", Done), "watch r1 c-r1-apply"},
		{loses, "cancel r1 c-r1-apply overdue"},
		{answer("r1", Done), "look r1 c-r1-apply overdue"},
		{looked("r1", After), "failed by services/push: r1: as canary: 3 % loss; not known to be in its old state: r1; unlock"},
	})
}

// The error of a router that does not answer has that, after the reason for its rollback, and once.
func TestSilence(t *testing.T) {
	refused := Event{Kind: Answer, Router: "r1", Result: Refused, Text: "old weights"}
	silent := Event{Kind: Answer, Router: "r1", Result: Lost, Text: "timeout"}
	for name, c := range map[string]struct {
		events []Event
		want   string
	}{
		"rolled back for another":     {[]Event{answer("r1", Done), {Kind: Answer, Router: "r2", Result: Refused}, silent, silent}, silence + "timeout"},
		"rolled back for itself":      {[]Event{answer("r1", Done), answer("r2", Done), refused, answer("r2", Done), silent, silent}, "verification failed: old weights; " + silence + "timeout"},
		"it answers, and refuses":     {[]Event{answer("r1", Done), answer("r2", Done), refused, answer("r2", Done), {Kind: Answer, Router: "r1", Result: Refused, Text: "busy"}}, "verification failed: old weights"},
		"it answers before it is due": {[]Event{answer("r1", Done), answer("r2", Done), refused, answer("r2", Done), silent, looked("r1", Before)}, "verification failed: old weights"},
	} {
		cs := sent(t, Applying)
		for _, e := range c.events {
			e.Ticket = ticket(cs, e.Router)
			cs, _ = Next(cs, e)
		}
		if got := cs.Routers[0].Error; got != c.want {
			t.Errorf("%s: error %q, want %q", name, got, c.want)
		}
		for _, r := range cs.Routers {
			r.cause = ""
			if got := causeIn(r.Error); strings.Contains(got, silence) || strings.HasSuffix(got, "; ") {
				t.Errorf("%s: the cause in %q is %q", name, r.Error, got)
			}
		}
	}
}
