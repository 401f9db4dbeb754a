package faults

import (
	"maps"
	"testing"
	"time"

	"github.com/millrace/millrace/e2e/plane"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/program"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// strike brings a change set to a moment, breaks something there, mends it, and waits until the change set ends.
func (w *world) strike(t *testing.T, m moment, f plane.Fault) *pushv1.ChangeSet {
	t.Helper()
	id, release := m.reach(t, w)
	f.Strike(t, w.Plane)
	release()
	time.Sleep(f.Lasts)
	f.Heal(t, w.Plane)
	if m.after != nil {
		m.after(t, w, id)
	}
	return w.end(t, id)
}

// ended is the change set if nothing more will happen to it by itself.
func (w *world) ended(id string) *pushv1.ChangeSet {
	cs, err := w.get(id)
	if err != nil {
		return nil
	}
	switch cs.GetState() {
	case pushv1.State_STATE_VERIFIED, pushv1.State_STATE_ROLLED_BACK, pushv1.State_STATE_FAILED:
		return cs
	}
	return nil
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

// judge holds the record against the routers.
func (w *world) judge(t *testing.T, cs *pushv1.ChangeSet) {
	t.Helper()
	for _, d := range cs.GetDevices() {
		r := w.Routers[d.GetDevice()]
		await.True(t, r.Name+" waits for no confirmation", func() bool { return !r.Pending() })
		holds := w.holds(r)
		t.Logf("%s: %s holds the %s state; the record says %s", cs.GetState(), r.Name, holds, d.GetState())
		if want := said(cs, d); holds == neither || want != "" && holds != want {
			t.Errorf("%s: %s holds the %s state, and the record says %s (%s):\n%v", cs.GetState(), r.Name, holds, d.GetState(), d.GetError(), cs.GetHistory())
		}
	}
}

// state is what a router holds.
type state string

const (
	before  state = "old"
	after   state = "new"
	neither state = "no known"
)

// holds compares a router with what it held before the policy and with what it held when all of it was verified.
func (w *world) holds(r *plane.Router) state {
	switch now := r.Entries(); {
	case maps.Equal(now, w.before[r.Name]):
		return before
	case maps.Equal(now, w.after[r.Name]):
		return after
	}
	return neither
}

// said is what the record claims of a router; empty where it claims nothing.
func said(cs *pushv1.ChangeSet, d *pushv1.DeviceChange) state {
	switch cs.GetState() {
	case pushv1.State_STATE_VERIFIED:
		return after
	case pushv1.State_STATE_ROLLED_BACK:
		return before
	}
	switch d.GetState() {
	case pushv1.DeviceState_DEVICE_STATE_CONFIRMED:
		return after
	case pushv1.DeviceState_DEVICE_STATE_ROLLED_BACK, pushv1.DeviceState_DEVICE_STATE_PLANNED:
		return before
	}
	return ""
}

// goesOn wipes the routers and wants the next change set to be verified: no lock, no run and no router was left over.
func (w *world) goesOn(t *testing.T) {
	t.Helper()
	w.wipe()
	w.verified(t)
	w.wipe()
}
