package plane

import (
	"testing"

	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// TestBook: what a router may hold follows from how change sets ended, and a router that holds anything else is
// reported.
func TestBook(t *testing.T) {
	const path = "/qos/queues/queue[name=te-alpha]"
	set := func(id string, is pushv1.State, device pushv1.DeviceState, before, after string) *pushv1.ChangeSet {
		return &pushv1.ChangeSet{Id: id, State: is, History: []*pushv1.Transition{{State: is}}, Devices: []*pushv1.DeviceChange{
			{Device: "WR", State: device, Entries: []*pushv1.EntryChange{{Path: path, Before: before, After: after}}},
		}}
	}
	const (
		verified, rolledBack, failed = pushv1.State_STATE_VERIFIED, pushv1.State_STATE_ROLLED_BACK, pushv1.State_STATE_FAILED
		unknown, confirmed           = pushv1.DeviceState_DEVICE_STATE_UNKNOWN, pushv1.DeviceState_DEVICE_STATE_CONFIRMED
	)
	b := NewBook()
	for i, step := range []struct {
		cs    *pushv1.ChangeSet
		holds string
		wrong bool
	}{
		{set("a", rolledBack, 0, "", "1"), "", false},
		{set("b", verified, confirmed, "", "1"), "1", false},
		{set("b", rolledBack, 0, "", "1"), "", false},
		{set("c", failed, unknown, "", "1"), "1", false},
		{set("d", failed, unknown, "1", "2"), "1", false},
		{set("e", failed, confirmed, "1", "2"), "2", false},
		{set("f", verified, confirmed, "2", "3"), "2", true},
		{set("g", rolledBack, 0, "2", "3"), "3", true},
	} {
		known := len(b.Wrong)
		b.Enter([]*pushv1.ChangeSet{step.cs})
		entries := map[string]string{}
		if step.holds != "" {
			entries[path] = step.holds
		}
		b.Hold("WR", entries)
		if (len(b.Wrong) > known) != step.wrong {
			t.Errorf("step %d: a router that holds %q is told to be wrong: %t", i, step.holds, !step.wrong)
		}
	}
}
