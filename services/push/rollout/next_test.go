package rollout

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// step is an event, and what comes of it: transitions, then actions, separated by semicolons.
type step struct {
	event Event
	want  string
}

// told is the change set after a script. Answers are to the latest request to their router.
func told(t *testing.T, name string, cs ChangeSet, script []step) ChangeSet {
	t.Helper()
	for i, s := range script {
		cs.Moves = nil
		s.event.Ticket = ticket(cs, s.event.Router)
		next, actions := Next(cs, s.event)
		if got := transcript(next.Moves, actions); got != s.want {
			t.Errorf("%s, step %d, %s %s:\n got %s\nwant %s", name, i+1, s.event.Kind, s.event.Router, got, s.want)
		}
		cs = next
	}
	return cs
}

// ticket is that of the latest request to a router.
func ticket(cs ChangeSet, router string) int {
	for _, r := range cs.Routers {
		if r.Name == router {
			return r.ticket
		}
	}
	return 0
}

func transcript(moves []Move, actions []Action) string {
	var out []string
	for _, m := range moves {
		out = append(out, fmt.Sprintf("%s by %s: %s", m.To, m.By, m.Note))
	}
	for _, a := range actions {
		line := strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s %s", a.Do, a.Router, a.Commit, a.Until, a.Text)), " ")
		if a.Again {
			line += " again"
		}
		out = append(out, line)
	}
	return strings.Join(out, "; ")
}

func routers(states ...RouterState) (out []Router) {
	for i, s := range states {
		out = append(out, Router{Name: fmt.Sprintf("r%d", i+1), State: s})
	}
	return out
}

func changeSet(s State, rs ...Router) ChangeSet { return ChangeSet{ID: "c", State: s, Routers: rs} }

func answer(router string, r Result) Event { return Event{Kind: Answer, Router: router, Result: r} }

func looked(router string, side Side) Event {
	return Event{Kind: Answer, Router: router, Result: Done, Side: side}
}

// Requests of people before anything is sent.
func TestAsked(t *testing.T) {
	two := routers(RouterPlanned, RouterPlanned)
	canary := changeSet(Approved, two...)
	canary.Canary = "r1"
	for name, c := range map[string]struct {
		cs    ChangeSet
		event Event
		want  string
	}{
		"a plan":                  {changeSet(Draft), Event{Kind: Plan, Entries: 5, Routers: two}, "planned by services/push: 5 config entries on 2 routers"},
		"a plan without a change": {changeSet(Draft), Event{Kind: Plan}, "empty by services/push: every router's running config is the intended one"},
		"a plan without a change, but for a router": {changeSet(Draft), Event{Kind: Plan, LeftAlone: []string{"r1", "r3"}}, "empty by services/push: every other router's running config is the intended one; left alone: r1, r3"},
		"a plan that cannot be made":                {changeSet(Draft), Event{Kind: NoPlan, Text: "no such policy"}, "failed by services/push: no such policy"},
		"a plan with a router missing":              {changeSet(Draft), Event{Kind: Plan, Text: "r2: no answer", Routers: two}, "failed by services/push: r2: no answer"},
		"a second plan":                             {changeSet(Planned, two...), Event{Kind: Plan, Entries: 5, Routers: two}, ""},
		"the first of two approvals":                {changeSet(Planned, two...), Event{Kind: Approve, By: "ann", Text: "fine", More: true}, "planned by ann: fine"},
		"an approval":                               {changeSet(Planned, two...), Event{Kind: Approve, By: "ann", Text: "fine"}, "approved by ann: fine"},
		"an approval of a draft":                    {changeSet(Draft), Event{Kind: Approve, By: "ann"}, "refuse only a planned one can be approved"},
		"apply":                                     {changeSet(Approved, two...), Event{Kind: Apply, By: "bob"}, "applying by bob: ; lock"},
		"apply, canary first":                       {canary, Event{Kind: Apply, By: "bob"}, "canary by bob: r1 first; lock"},
		"apply by night":                            {changeSet(Approved, two...), Event{Kind: Apply, By: "bob", Text: "until 22:00"}, "scheduled by bob: until 22:00"},
		"apply what nobody approved":                {changeSet(Planned, two...), Event{Kind: Apply, By: "bob"}, "refuse approve it first, or request a new one"},
		"the night has come":                        {changeSet(Scheduled, two...), Event{Kind: Begin, By: "bob", Text: "22:00"}, "applying by bob: ; lock"},
		"its plan is old":                           {changeSet(Scheduled, two...), Event{Kind: Outdated, By: Self, Text: "a newer one"}, "failed by services/push: nothing was sent: a newer one"},
		"its plan is old before anybody approved":   {changeSet(Planned, two...), Event{Kind: Outdated, By: Self, Text: "a newer one"}, "failed by services/push: nothing was sent: a newer one"},
		"nobody wants it":                           {changeSet(Planned, two...), Event{Kind: Abort, By: "ann", Text: "not tonight"}, "aborted by ann: not tonight"},
		"nobody wants what is approved":             {changeSet(Approved, two...), Event{Kind: Abort, By: "ann", Text: "not tonight"}, "aborted by ann: not tonight"},
		"it is aborted while it is planned":         {changeSet(Draft), Event{Kind: Abort, By: "ann"}, "aborted by ann: "},
		"a plan of what is aborted":                 {changeSet(Aborted), Event{Kind: Plan, Entries: 5, Routers: two}, ""},
		"an abort of what is verified":              {changeSet(Verified, two...), Event{Kind: Abort, By: "ann"}, "refuse it is neither waiting nor being applied"},
		"it is not to be applied":                   {changeSet(Scheduled, two...), Event{Kind: Abort, By: "ann", Text: "stop"}, "approved by ann: stop"},
		"a rollback":                                {changeSet(Verified, two...), Event{Kind: Rollback, By: "ann", Text: "loss"}, "rolling-back by ann: loss; lock"},
		"a rollback of what is applied":             {changeSet(Applying, two...), Event{Kind: Rollback, By: "ann"}, "refuse only a verified one can be rolled back"},
	} {
		told(t, name, c.cs, []step{{c.event, c.want}})
	}
}

func TestOnlyTheTableIsAllowed(t *testing.T) {
	states := []State{Draft, Planned, Empty, Approved, Scheduled, Canary, Applying, Applied, Verified, RollingBack, RolledBack, Failed, Aborted}
	rows, asks := map[string]bool{}, map[string]bool{}
	for _, row := range Table {
		rows[fmt.Sprint(row.From, " ", row.To, " ", row.On)] = true
		asks[fmt.Sprint(row.From, " ", row.On)] = true
	}
	for _, from := range states {
		for _, on := range []Kind{"", Plan, NoPlan, Approve, Apply, Rollback, Abort, Begin, Outdated} {
			if key := fmt.Sprint(from, " ", on); Allows(from, on) != asks[key] {
				t.Errorf("%s may be asked: %t", key, !asks[key])
			}
			for _, to := range states {
				if key := fmt.Sprint(from, " ", to, " ", on); allowed(from, to, on) != rows[key] {
					t.Errorf("%s is allowed: %t", key, !rows[key])
				}
			}
		}
	}
	motion, stop := map[State]bool{Canary: true, Applying: true, Applied: true, RollingBack: true}, map[State]bool{Canary: true, Applying: true, RollingBack: true}
	for _, s := range states {
		if s.InMotion() != motion[s] || s.MayStop() != stop[s] {
			t.Errorf("%s: in motion %t, may stop %t", s, s.InMotion(), s.MayStop())
		}
	}
}

func TestRoutersAreInFlightWhileACommitMayBeThere(t *testing.T) {
	cs := changeSet(Applying, routers(RouterUnknown, RouterPlanned, RouterUnknown, RouterRolledBack)...)
	cs.Routers[0].Commit, cs.Routers[2].Commit, cs.Routers[3].Commit = "c-r1-apply", "c-r3-apply-undo", "c0-r4-apply"
	if got := InFlight(cs); !slices.Equal(got, []string{"r1", "r3"}) {
		t.Errorf("in flight: %v, want r1 and r3", got)
	}
	cs.State = Verified
	if got := InFlight(cs); got != nil {
		t.Errorf("in flight of what has ended: %v", got)
	}
}

// A run can be stopped until it sends its first confirmation. One that was taken up goes on to its end.
func TestWhatDecides(t *testing.T) {
	for _, s := range []State{Applying, RollingBack} {
		cs, decided := sent(t, s), 0
		for i, e := range []Event{answer("r1", Done), answer("r2", Done), answer("r1", Done), answer("r2", Done), answer("r1", Done), answer("r2", Done)} {
			e.Ticket = ticket(cs, e.Router)
			next, actions := Next(cs, e)
			confirms := len(actions) > 0 && actions[0].Do == Confirm
			if got := Decides(cs, next); got != confirms {
				t.Errorf("%s, answer %d: decided %t, want %t", s, i+1, got, confirms)
			}
			if confirms {
				decided++
			}
			cs = next
		}
		if decided != 1 {
			t.Errorf("%s was decided %d times", s, decided)
		}
	}
	taken, _ := Next(changeSet(Applied, routers(RouterApplied)...), Event{Kind: TakeUp})
	if next, actions := Next(taken, Event{Kind: Locked}); Decides(taken, next) || actions[0].Do != Confirm {
		t.Errorf("what is taken up is decided again, and does %v", actions)
	}
}

// A runner has the locks, waits for them, or has nothing to do.
func TestLocks(t *testing.T) {
	asked, _ := Next(changeSet(Approved, routers(RouterPlanned)...), Event{Kind: Apply, By: "bob"})
	stopped, _ := Next(asked, Event{Kind: Stop, Text: "frozen"})
	taken, _ := Next(changeSet(Applying, routers(RouterPlanned)...), Event{Kind: TakeUp})
	halted, _ := Next(taken, Event{Kind: Stop, Text: "frozen"})
	checking, _ := Next(asked, Event{Kind: Locked})
	for name, c := range map[string]struct {
		cs    ChangeSet
		event Event
		want  string
	}{
		"locked":                                   {asked, Event{Kind: Locked}, "check r1"},
		"locked after a stop":                      {stopped, Event{Kind: Locked}, "failed by services/push: frozen; no router was changed; unlock"},
		"another change set has a router":          {asked, Event{Kind: Held, Text: "r1 is of c2"}, "failed by services/push: r1 is of c2; no router was changed; unlock"},
		"the same, of one that was taken up":       {taken, Event{Kind: Held, Text: "r1 is of c2"}, "lock again"},
		"locked after a stop of what was taken up": {halted, Event{Kind: Locked}, "failed by services/push: the control plane restarted before it was verified; no router was changed; unlock"},
		"another process has it":                   {asked, Event{Kind: Elsewhere}, ""},
		"nobody runs it":                           {changeSet(Applying, routers(RouterPlanned)...), Event{Kind: TakeUp}, "lock"},
		"somebody runs it":                         {checking, Event{Kind: TakeUp}, ""},
		"it has ended":                             {changeSet(Verified, routers(RouterConfirmed)...), Event{Kind: TakeUp}, ""},
		"nobody runs it, its plan is lost":         {changeSet(Applying, routers(RouterUnknown)...), Event{Kind: Unreadable, Text: "gone"}, "failed by services/push: look at its routers: gone"},
		"somebody runs what one cannot read":       {checking, Event{Kind: Unreadable, Text: "gone"}, ""},
		"locked twice":                             {checking, Event{Kind: Locked}, ""},
		"held though it has the locks":             {checking, Event{Kind: Held, Text: "r1 is of c2"}, ""},
	} {
		told(t, name, c.cs, []step{{c.event, c.want}})
	}
	if cs, _ := Next(checking, Event{Kind: LockLost}); cs.Running() || cs.State != Applying {
		t.Errorf("without its locks it is %s, running: %t", cs.State, cs.Running())
	}
}

func TestOneRouterAfterTheOther(t *testing.T) {
	cs := changeSet(Approved, routers(RouterPlanned, RouterPlanned)...)
	cs.Routers[1].Wave = 1
	told(t, "two waves", cs, []step{
		{Event{Kind: Apply, By: "bob"}, "applying by bob: ; lock"},
		{Event{Kind: Locked}, "check r1; check r2"},
		{answer("r1", Done), ""},
		{answer("r2", Done), "send r1 c-r1-apply"},
		{answer("r1", Done), "send r2 c-r2-apply"},
		{answer("r2", Done), "verify r1 c-r1-apply; verify r2 c-r2-apply"},
		{answer("r1", Done), ""},
		{answer("r2", Done), "applied by services/push: every router is verified; confirming; confirm r1 c-r1-apply expiry"},
		{answer("r1", Done), "confirm r2 c-r2-apply expiry"},
		{answer("r2", Done), "verified by bob: confirmed on r1, r2; unlock"},
	})
	cs.Canary = "r1"
	told(t, "a canary", cs, []step{
		{Event{Kind: Apply, By: "bob"}, "canary by bob: r1 first; lock"},
		{Event{Kind: Locked}, "check r1; check r2"},
		{answer("r1", Done), ""},
		{answer("r2", Done), "send r1 c-r1-apply"},
		{answer("r1", Done), "verify r1 c-r1-apply"},
		{answer("r1", Done), "watch r1 c-r1-apply"},
		{Event{Kind: Answer, Router: "r1", Result: Done, Text: "0.1 % loss"}, "applying by services/push: canary r1 kept its SLO: 0.1 % loss; send r2 c-r2-apply"},
		{answer("r2", Done), "verify r1 c-r1-apply; verify r2 c-r2-apply"},
		{answer("r1", Done), ""},
		{answer("r2", Done), "applied by services/push: every router is verified; confirming; confirm r1 c-r1-apply expiry"},
		{answer("r1", Done), "confirm r2 c-r2-apply expiry"},
		{answer("r2", Done), "verified by bob: confirmed on r1, r2; unlock"},
	})
}
