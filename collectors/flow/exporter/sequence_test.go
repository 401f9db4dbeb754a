package exporter

import (
	"fmt"
	"testing"
	"time"
)

// What an exporter defined before it was started again does not hold any more (RFC 3954 section 9), wherever its
// sequence number stood; an uptime that wraps is no restart.
func TestARestartIsSeenWhereverTheNumbersStood(t *testing.T) {
	const wraps = 1<<32 - 60_000 // ms: a minute before the uptime wraps
	for _, c := range []struct {
		last, next       uint32 // sequence numbers
		uptime, uptimeOf uint32 // then, and five minutes later
		restarts         bool
	}{
		{900, 0, 86_400_000, 30_000, true},
		{900, 903, 86_400_000, 30_000, true}, // its first three datagrams are lost
		{1 << 30, 0, 86_400_000, 30_000, true},
		{2_436_874_581, 0, 86_400_000, 30_000, true},
		{4_000_000_000, 0, 86_400_000, 30_000, true},
		{900, 901, wraps, 240_000, false},
		{1<<32 - 1, 0, wraps, 240_000, false},
		{900, 901, 86_400_000, 86_700_000, false},
	} {
		t.Run(fmt.Sprint(c.last, " ", c.next, " ", c.uptimeOf), func(t *testing.T) {
			b := newBench(t, nil)
			b.take(router, v9(header{seq: c.last, uptime: c.uptime}, tmpl(9), flows(1, c.uptime)))
			b.now = epoch.Add(5 * time.Minute)
			records := len(b.take(router, v9(header{seq: c.next, at: b.now, uptime: c.uptimeOf}, flows(1, c.uptimeOf))))
			if restarts, kept := b.only().Events[EventRestart] == 1, records == 1; restarts != c.restarts || kept == c.restarts {
				t.Errorf("restart %t, template kept %t; want %t, %t; events %v", restarts, kept, c.restarts, !c.restarts, b.only().Events)
			}
		})
	}
}
