package flow

import (
	"testing"
	"time"
)

// A sample that comes late to the hour before counts in it: a row of a later revision replaces all earlier ones.
func TestALateSampleCountsInItsHour(t *testing.T) {
	h := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var o ownHours
	o.count(h.Add(30*time.Minute), 1000, 50)
	o.changed()
	o.count(h.Add(time.Hour+time.Millisecond), 1, 0)
	o.count(h.Add(time.Hour-time.Millisecond), 1, 0)
	var found bool
	for _, row := range o.changed() {
		if row.Start.Equal(h) {
			found = true
			if row.Datagrams != 1001 || row.SocketDrops != 50 || !row.Exporter.IsUnspecified() {
				t.Errorf("the hour has %+v, want 1001 datagrams and 50 drops", row)
			}
		}
	}
	if !found {
		t.Error("the hour is not told of again")
	}
}
