package faults

import (
	"os"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/e2e/plane"
	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/program"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// strike brings a change set to a moment, breaks something there, mends it, and waits until the change set ends; nil if
// etcd has forgotten it.
func (w *world) strike(t *testing.T, m moment, f plane.Fault) *pushv1.ChangeSet {
	t.Helper()
	if f.Prepare != nil {
		f.Prepare(t, w.Plane)
	}
	told := w.tellings(t, "push")
	id, release := m.reach(t, w)
	f.Strike(t, w.Plane)
	release()
	time.Sleep(f.Lasts)
	f.Heal(t, w.Plane)
	if f.Forgets {
		w.forgotten(t, id)
		w.toldAgain(t, "push", told)
		return nil
	}
	if m.after != nil {
		m.after(t, w, id)
	}
	return w.end(t, id)
}

// forgotten waits until etcd says that there is no such change set.
func (w *world) forgotten(t *testing.T, id string) {
	t.Helper()
	program.Until(t, id+" is forgotten", func() (bool, any) {
		_, err := w.get(id)
		return connect.CodeOf(err) == connect.CodeNotFound, err
	})
}

// judgeForgotten is judge where no record is left: every router is in the old or the new state, and a change set makes
// what the policy says the configuration again, whatever they hold.
func (w *world) judgeForgotten(t *testing.T) {
	t.Helper()
	for _, r := range w.Routers {
		await.True(t, r.Name+" waits for no confirmation", func() bool { return !r.Pending() })
		holds := w.Holds(r)
		t.Logf("%s holds the %s state", r.Name, holds)
		if holds == plane.Neither {
			t.Errorf("%s holds the %s state: %v", r.Name, holds, r.Entries())
		}
	}
	cs := call(t, "a change set is made", w.Changes.Create, &pushv1.CreateRequest{Policy: "geant-lbe", Author: "test"}).GetChange()
	if cs.GetState() == pushv1.State_STATE_PLANNED {
		approveAndApply(t, w, cs.GetId())
		cs = w.end(t, cs.GetId())
	}
	for _, r := range w.Routers {
		if holds := w.Holds(r); holds != plane.After {
			t.Errorf("%s holds the %s state after %s, which is %s: %v", r.Name, holds, cs.GetId(), cs.GetState(), cs.GetHistory())
		}
	}
}

// tellings counts how often a service has told operators that etcd has older data than it had.
func (w *world) tellings(t *testing.T, service string) int {
	t.Helper()
	log, err := os.ReadFile(w.Running[service].Log)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(log), "code="+events.StateRewound.Code())
}

// toldAgain waits until a service has told them once more.
func (w *world) toldAgain(t *testing.T, service string, before int) {
	t.Helper()
	program.Until(t, "operators are told of older data", func() (bool, any) {
		now := w.tellings(t, service)
		return now > before, now
	})
}

// ended is the change set if nothing more will happen to it by itself.
func (w *world) ended(id string) *pushv1.ChangeSet {
	cs, err := w.get(id)
	if err != nil || !plane.Ended(cs) {
		return nil
	}
	return cs
}

func (w *world) end(t *testing.T, id string) (cs *pushv1.ChangeSet) {
	t.Helper()
	program.Until(t, id+" ends", func() (bool, any) {
		cs = w.ended(id)
		last, err := w.get(id)
		return cs != nil, []any{last.GetState(), err}
	})
	return cs
}

// goesOn wipes the routers and wants the next change set to be verified: no lock, no run and no router was left over.
func (w *world) goesOn(t *testing.T) {
	t.Helper()
	w.Wipe()
	w.verified(t)
	w.Wipe()
}
