package apply

import (
	"testing"
	"time"
)

// wait begins a commit that waits for its confirmation, and is what its timer does.
func (d *dark) wait(id, weight string) (over func()) {
	d.Helper()
	if err := d.edit(weight, &Confirmation{ID: id, Duration: time.Minute}); err != nil {
		d.Fatal(err)
	}
	return d.over
}

// A timer that has run off cannot be stopped: it waits for its turn, behind a reconciliation and what came before it.
// The commit may have another time by then, or be confirmed, and another one of the same id wait.
func TestATimerThatRanOffRollsBackNoOtherWait(t *testing.T) {
	for name, meanwhile := range map[string]func(d *dark) error{
		"the commit has more time": func(d *dark) error { return d.store.Extend("c1", time.Hour) },
		"another commit has its id": func(d *dark) error {
			err := d.store.Confirm("c1")
			d.wait("c1", "95")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDark(t)
			if err := d.edit("15", nil); err != nil {
				t.Fatal(err)
			}
			former := d.wait("c1", "95")
			if err := meanwhile(d); err != nil {
				t.Fatal(err)
			}
			former()
			if id := d.store.PendingID(); id != "c1" {
				t.Errorf("commit %q waits, want c1", id)
			}
			d.wantRate("ge-b", "95Mbit")
			d.over()
			if id := d.store.PendingID(); id != "" {
				t.Errorf("commit %q waits though its time is over", id)
			}
		})
	}
}
