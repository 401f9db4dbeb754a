package soak

import (
	"errors"
	"testing"
	"time"

	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// TestBeside: an attempt is excused while something is broken, and after it until the first of its kind succeeds.
func TestBeside(t *testing.T) {
	at := func(second int) time.Time { return time.Unix(int64(second), 0) }
	d := &diary{strikes: []*strike{{fault: "one", begin: at(10), healed: at(20)}, {fault: "two", begin: at(50)}}}
	d.note(aNightlyRun, at(22), at(24), errors.New("first after it"))
	d.note(aNightlyRun, at(25), at(26), nil)
	for _, c := range []struct {
		k          kind
		begin, end int
		want       string
	}{
		{aNightlyRun, 1, 9, ""}, {aNightlyRun, 1, 10, "one"}, {aNightlyRun, 12, 13, "one"}, {aNightlyRun, 19, 30, "one"}, {aNightlyRun, 22, 24, "one"},
		{aNightlyRun, 27, 30, ""}, {aRound, 27, 30, "one"}, {aNightlyRun, 27, 55, "two"}, {aNightlyRun, 60, 61, "two"},
	} {
		if got := d.beside(attempt{kind: c.k, begin: at(c.begin), end: at(c.end), err: "failed"}); got != c.want {
			t.Errorf("a %s from %d to %d is beside %q, want %q", c.k, c.begin, c.end, got, c.want)
		}
	}
}

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
	b := newBook()
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
		known := len(b.wrong)
		b.enter([]*pushv1.ChangeSet{step.cs})
		entries := map[string]string{}
		if step.holds != "" {
			entries[path] = step.holds
		}
		b.hold("WR", entries)
		if (len(b.wrong) > known) != step.wrong {
			t.Errorf("step %d: a router that holds %q is told to be wrong: %t", i, step.holds, !step.wrong)
		}
	}
}
