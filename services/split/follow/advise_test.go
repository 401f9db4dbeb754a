package follow

import (
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/split"
)

func TestOldCountersAdviseNothing(t *testing.T) {
	at := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	var samples []split.Sample
	for i := range 60 {
		samples = append(samples, split.Sample{At: at.Add(time.Duration(i) * time.Minute), Capacity: 10e9, Alpha: split.Load{Sent: 5e9}, Beta: split.Load{Sent: 5e9}})
	}
	const stale = 10 * time.Minute
	last := samples[len(samples)-1].At
	for _, c := range []struct {
		name    string
		samples []split.Sample
		now     time.Time
		share   int
		rule    split.Rule
		why     string
	}{
		{"new counters", samples, last.Add(stale), 60, split.RaiseNow, ""},
		{"old counters", samples, last.Add(stale + time.Second), 20, split.Missing, "2026-11-24T12:59:00Z"},
		{"no counters", nil, last, 20, split.Missing, "there are no counters"},
	} {
		if d := Advise(split.Default(), 20, c.samples, stale, c.now); d.Share != c.share || d.Rule != c.rule || !strings.Contains(d.Why, c.why) {
			t.Errorf("%s: %+v", c.name, d)
		}
	}
}
