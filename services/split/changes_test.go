package split

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/split/follow"
)

// lived is a change set with a transition a minute.
func lived(steps ...*pushv1.Transition) *pushv1.ChangeSet {
	cs := &pushv1.ChangeSet{Id: "c", Policy: "p", Created: timestamppb.New(noon)}
	for i, s := range steps {
		s = proto.CloneOf(s)
		s.Time = timestamppb.New(noon.Add(time.Duration(i) * time.Minute))
		cs.State, cs.History = s.GetState(), append(cs.History, s)
	}
	return cs
}

func TestWhatBecameOfAChangeSet(t *testing.T) {
	step := func(s pushv1.State, by, note string) *pushv1.Transition {
		return &pushv1.Transition{State: s, By: by, Note: note}
	}
	planned := step(pushv1.State_STATE_PLANNED, "push", "3 config entries on 1 routers")
	applying := step(pushv1.State_STATE_APPLYING, "ann", "")
	verified := step(pushv1.State_STATE_VERIFIED, "push", "")
	for _, c := range []struct {
		name          string
		cs            *pushv1.ChangeSet
		outcome       follow.Outcome
		by            string
		forced, ended int // minutes; 0: not
	}{
		{"planned", lived(planned), follow.Waiting, "", 0, 0},
		{"approved, and nobody applies it", lived(planned, step(pushv1.State_STATE_APPROVED, "ann", "")), follow.Waiting, "", 0, 0},
		{"scheduled", lived(planned, step(pushv1.State_STATE_SCHEDULED, "ann", "")), follow.Scheduled, "", 0, 0},
		{"being applied", lived(planned, applying), follow.Running, "", 0, 0},
		{"in force", lived(planned, applying, verified), follow.InForce, "", 2, 0},
		{"in force already", lived(step(pushv1.State_STATE_DRAFT, "split", ""), step(pushv1.State_STATE_EMPTY, "push", "")), follow.InForce, "", 1, 0},
		{"being rolled back", lived(planned, applying, verified, step(pushv1.State_STATE_ROLLING_BACK, "bob", "")), follow.Running, "bob", 2, 0},
		{"rolled back", lived(planned, applying, verified, step(pushv1.State_STATE_ROLLING_BACK, "bob", ""), step(pushv1.State_STATE_ROLLED_BACK, "push", "confirmed on wr")), follow.Undone, "bob", 2, 4},
		{"the rollback failed", lived(planned, applying, verified, step(pushv1.State_STATE_ROLLING_BACK, "bob", ""), verified), follow.InForce, "bob", 2, 0},
		{"failed on a router", lived(planned, applying, step(pushv1.State_STATE_ROLLED_BACK, "push", "er does not answer; every router is back in its old state")), follow.Failed, "", 0, 2},
		{"not planned", lived(step(pushv1.State_STATE_DRAFT, "split", ""), step(pushv1.State_STATE_FAILED, "push", "er does not answer")), follow.Failed, "", 0, 1},
		{"aborted", lived(planned, applying, step(pushv1.State_STATE_ROLLED_BACK, "push", "aborted by ann; every router is back in its old state")), follow.Failed, "ann", 0, 2},
		{"aborted, with a note", lived(planned, applying, step(pushv1.State_STATE_FAILED, "push", "aborted by ann: not now")), follow.Failed, "ann", 0, 2},
		{"aborted while it waited", lived(planned, step(pushv1.State_STATE_ABORTED, "ann", "not now")), follow.Failed, "ann", 0, 1},
		{"aborted before anything was sent", lived(planned, applying, step(pushv1.State_STATE_FAILED, "push", "aborted by ann")), follow.Failed, "ann", 0, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := changeOf(c.cs)
			at := func(minute int) time.Time {
				if minute == 0 {
					return time.Time{}
				}
				return noon.Add(time.Duration(minute) * time.Minute)
			}
			if got.Outcome != c.outcome || got.By != c.by || !got.Forced.Equal(at(c.forced)) || !got.Ended.Equal(at(c.ended)) {
				t.Errorf("%+v", got)
			}
			if got.Planned.IsZero() != (c.name == "not planned") {
				t.Errorf("planned %v", got.Planned)
			}
		})
	}
}

func TestThePolicyInForceIsThatOfTheNewest(t *testing.T) {
	change := func(id, policy string, s pushv1.State) *pushv1.ChangeSet {
		return &pushv1.ChangeSet{Id: id, Policy: policy, State: s}
	}
	repair := change("repair", "c", pushv1.State_STATE_VERIFIED)
	repair.Repairs = []string{"wr"}
	h := historyOf([]*pushv1.ChangeSet{
		change("waits", "b", pushv1.State_STATE_PLANNED), repair, change("newest", "a", pushv1.State_STATE_EMPTY), change("before", "b", pushv1.State_STATE_VERIFIED), change("first", "a", pushv1.State_STATE_VERIFIED),
	})
	if h.policy != "a" || len(h.changes) != 2 || h.busy != "" {
		t.Errorf("%+v", h)
	}
	if h := historyOf([]*pushv1.ChangeSet{change("x", "b", pushv1.State_STATE_ROLLING_BACK)}); h.policy != "" || h.busy != "change set x is being applied" {
		t.Errorf("%+v", h)
	}
	if h := historyOf([]*pushv1.ChangeSet{change("x", "b", pushv1.State_STATE_DRAFT)}); h.busy != "" {
		t.Errorf("a draft: %+v", h)
	}
}

// A draft may wait until one that was requested after it is in force.
func TestWhatWasPlannedLastIsInForce(t *testing.T) {
	at := func(id, policy string, minutes ...int) *pushv1.ChangeSet {
		cs := &pushv1.ChangeSet{Id: id, Policy: policy, State: pushv1.State_STATE_VERIFIED, Created: timestamppb.New(noon.Add(time.Duration(minutes[0]) * time.Minute))}
		for i, s := range []pushv1.State{pushv1.State_STATE_DRAFT, pushv1.State_STATE_PLANNED, pushv1.State_STATE_VERIFIED} {
			cs.History = append(cs.History, &pushv1.Transition{State: s, Time: timestamppb.New(noon.Add(time.Duration(minutes[i]) * time.Minute))})
		}
		return cs
	}
	waited, quick := at("waited", "p", 0, 7, 8), at("quick", "p", 1, 2, 3)
	waited.Splits, quick.Splits = []*policyv1.PortSplit{{Router: "wr", Interface: "ge-1", Beta: 30}}, []*policyv1.PortSplit{{Router: "wr", Interface: "ge-1", Beta: 40}}
	h := historyOf([]*pushv1.ChangeSet{quick, waited})
	if got := follow.SplitsAt(h.changes, noon.Add(time.Hour))[follow.Port{Router: "wr", Interface: "ge-1"}]; got != 30 {
		t.Errorf("the port has %d %%, and the plan that was made last says 30", got)
	}
	for name, list := range map[string][]*pushv1.ChangeSet{
		"a draft that waited":             {at("b", "other", 1, 2, 3), at("a", "p", 0, 7, 8)},
		"a plan that waited for approval": {at("b", "other", 1, 3, 4), at("a", "p", 0, 2, 8)},
		"the newest, in every way":        {at("a", "p", 5, 6, 7), at("b", "other", 1, 2, 3)},
		"one that was planned in between": {at("b", "other", 1, 2, 3), at("a", "p", 0, 1, 4)},
	} {
		if h := historyOf(list); h.policy != "p" {
			t.Errorf("%s: policy %q is in force, want p", name, h.policy)
		}
	}
}

func TestSettingsWithoutSenseAreRefused(t *testing.T) {
	if err := DefaultConfiguration().Validate(); err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(*Configuration){
		"interval": func(c *Configuration) { c.Interval = 0 }, "step": func(c *Configuration) { c.Step = 0 }, "retry": func(c *Configuration) { c.Retry = -1 },
		"patience": func(c *Configuration) { c.Patience = 0 }, "after_person": func(c *Configuration) { c.AfterPerson = 0 },
		"stale": func(c *Configuration) { c.Stale = c.Step - 1 }, "no days": func(c *Configuration) { c.Days = 0 }, "days": func(c *Configuration) { c.Days = mostDays + 1 },
		"law": func(c *Configuration) { c.Law.Moves = 1 },
	} {
		c := DefaultConfiguration()
		change(&c)
		if c.Validate() == nil {
			t.Errorf("%s: taken", what)
		}
	}
}
