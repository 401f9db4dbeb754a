package guard

import (
	"testing"
	"time"

	"github.com/millrace/millrace/internal/portcounters"
)

// series are readings every ten seconds from the start on.
func series(values ...uint64) (out []portcounters.Reading) {
	for i, v := range values {
		out = append(out, portcounters.Reading{At: time.Unix(int64(10*i), 0), Value: v})
	}
	return out
}

func TestJudge(t *testing.T) {
	slo := SLO{MaxDrops: 0.01, MinPackets: 100}
	const minute = 60
	quiet := Queue{"ge-cr:te-beta", series(0, 500, 1000, 1500, 2000, 2500, 3000), series(0, 0, 0, 0, 0, 0, 0)}
	for _, c := range []struct {
		name    string
		queues  []Queue
		now     int64
		outcome Outcome
		figure  string
	}{
		{"nothing was read yet", nil, 10, Watching, ""},
		{"nothing was read until the end", nil, minute, Broken, "none of its queue counters was read in 1m0s, so the SLO cannot be judged"},
		{"no drops so far", []Queue{quiet}, 59, Watching, ""},
		{"no drops until the end", []Queue{quiet}, minute, Kept, "0 of 3000 packets dropped in 1m0s"},
		{"no packets at all is kept, where that was read", []Queue{{"q", series(7, 7, 7, 7, 7), nil}}, minute, Kept, "0 of 0 packets dropped in 1m0s"},
		{"what was dropped before does not count", []Queue{{"q", series(0, 500, 1000, 2000, 3000), series(900, 900, 900, 900, 900)}}, minute, Kept, "0 of 3000 packets dropped in 1m0s"},
		{"just as many drops as it may", []Queue{{"q", series(0, 900, 900, 990, 990), series(0, 0, 5, 10, 10)}}, minute, Kept, "10 of 1000 packets dropped in 1m0s"},
		{"one more, and it is known at once", []Queue{quiet, {"ge-er:te-alpha", series(0, 989), series(0, 11)}}, 11, Broken, "queue ge-er:te-alpha dropped 1.1 % of 1000 packets, more than 1 %"},
		{"too few packets to judge", []Queue{{"q", series(0, 40, 40, 40, 40), series(0, 50, 50, 50, 50)}}, minute, Kept, "50 of 90 packets dropped in 1m0s"},
		{"each queue is judged for itself", []Queue{quiet, {"q", series(0, 90), series(0, 10)}}, 20, Broken, "queue q dropped 10 % of 100 packets, more than 1 %"},
		{"counters that start again", []Queue{{"q", series(5000, 100, 200, 200, 200), series(80, 2, 2, 2, 2)}}, minute, Kept, "2 of 202 packets dropped in 1m0s"},
		{"counters that start again after they grew", []Queue{{"q", series(500, 600, 100, 300, 300), series(5, 8, 1, 1, 1)}}, minute, Kept, "4 of 404 packets dropped in 1m0s"},
		{"counters that stopped coming", []Queue{{"q", series(0, 100, 200), series(0, 0, 0)}}, minute, Broken, "none of its queue counters was read in the last 40s, so the SLO cannot be judged"},
		{"one reading tells of no growth", []Queue{{"q", series(0, 0, 0, 0, 70)[4:], series(0, 0, 0, 0, 0)[4:]}}, minute, Broken, "queue q was read in the second half of 1m0s only, so its drops before that are unknown"},
		{"nor do two late ones of one queue", []Queue{quiet, {"q", series(0, 0, 0, 0, 9, 9)[4:], nil}}, minute, Broken, "queue q was read in the second half of 1m0s only, so its drops before that are unknown"},
		{"a queue that the change removes is not missed", []Queue{quiet, {"q", series(9, 9), nil}}, minute, Kept, "0 of 3000 packets dropped in 1m0s"},
		{"counters that are not there while they are 0", []Queue{{"q", series(0, 1, 2, 3, 4), nil}}, minute, Kept, "0 of 4 packets dropped in 1m0s"},
	} {
		outcome, figure := slo.Judge(c.queues, time.Unix(0, 0), time.Unix(minute, 0), time.Unix(c.now, 0))
		if outcome != c.outcome || figure != c.figure {
			t.Errorf("%s: %s, %q; want %s, %q", c.name, outcome, figure, c.outcome, c.figure)
		}
	}
}
