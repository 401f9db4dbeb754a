package plane

import (
	"maps"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/testkit/await"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// State is what a router holds.
type State string

// Before is the configuration without a policy, After that with all of it.
const (
	Before  State = "old"
	After   State = "new"
	Neither State = "no known"
)

// States are what each router holds without and with a policy.
type States struct {
	routers       map[string]*Router
	before, after map[string]map[string]string
}

// Learn sees what routers hold before and after something that changes them, and has them hold what they did before.
func (s *States) Learn(t *testing.T, routers map[string]*Router, change func()) {
	t.Helper()
	s.routers = routers
	s.before = s.entries()
	change()
	s.after = s.entries()
	for name, entries := range s.after {
		if len(entries) == 0 {
			t.Fatalf("the policy gives %s nothing to hold", name)
		}
	}
	s.Wipe()
}

func (s *States) entries() map[string]map[string]string {
	out := map[string]map[string]string{}
	for name, r := range s.routers {
		out[name] = r.Entries()
	}
	return out
}

// Wipe leaves routers as they were before any change set, faultless.
func (s *States) Wipe() {
	for name, r := range s.routers {
		r.Clear()
		for path := range r.Entries() {
			r.Edit(path, s.before[name][path])
		}
	}
}

// Holds compares a router's configuration with both.
func (s *States) Holds(r *Router) State {
	switch now := r.Entries(); {
	case maps.Equal(now, s.before[r.Name]):
		return Before
	case maps.Equal(now, s.after[r.Name]):
		return After
	}
	return Neither
}

// Judge holds the record of a change set that has ended against the routers.
func (s *States) Judge(t *testing.T, cs *pushv1.ChangeSet) {
	t.Helper()
	for _, d := range cs.GetDevices() {
		r := s.routers[d.GetDevice()]
		await.True(t, r.Name+" waits for no confirmation", func() bool { return !r.Pending() })
		holds := s.Holds(r)
		t.Logf("%s: %s holds the %s state; the record says %s", cs.GetState(), r.Name, holds, d.GetState())
		if want := Said(cs, d); holds == Neither || want != "" && holds != want {
			t.Errorf("%s: %s holds the %s state, and the record says %s (%s):\n%v", cs.GetState(), r.Name, holds, d.GetState(), d.GetError(), cs.GetHistory())
		}
	}
}

// Said is what the record claims of a router; empty where it claims nothing.
func Said(cs *pushv1.ChangeSet, d *pushv1.DeviceChange) State {
	switch cs.GetState() {
	case pushv1.State_STATE_VERIFIED:
		return After
	case pushv1.State_STATE_ROLLED_BACK:
		return Before
	}
	switch d.GetState() {
	case pushv1.DeviceState_DEVICE_STATE_CONFIRMED:
		return After
	case pushv1.DeviceState_DEVICE_STATE_ROLLED_BACK, pushv1.DeviceState_DEVICE_STATE_PLANNED:
		return Before
	case pushv1.DeviceState_DEVICE_STATE_FAILED: // it refused: nothing was changed
		if strings.HasPrefix(d.GetError(), "refused: ") {
			return Before
		}
	}
	return ""
}

// Ended reports whether nothing more will happen to a change set by itself.
func Ended(cs *pushv1.ChangeSet) bool {
	switch cs.GetState() {
	case pushv1.State_STATE_VERIFIED, pushv1.State_STATE_ROLLED_BACK, pushv1.State_STATE_FAILED, pushv1.State_STATE_EMPTY:
		return true
	}
	return false
}
