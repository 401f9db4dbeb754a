package follow

import (
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/split"
)

// Advise is what the law says at the end of samples, as if the share had been the same over all of them: moves before
// them, and what speaks against a request, are not known to it.
func Advise(l split.Law, share int, samples []split.Sample, stale time.Duration, now time.Time) split.Decision {
	s, d := split.State{Share: share}, split.Decision{Rule: split.Missing, Share: share, Why: noCounters}
	for _, x := range samples {
		s, d = l.Decide(s, x)
	}
	if n := len(samples); n > 0 && now.Sub(samples[n-1].At) > stale {
		return split.Decision{Rule: split.Missing, Share: share, Why: lastCounters(samples[n-1].At)}
	}
	return d
}

// noCounters and lastCounters say why nothing can be decided.
const noCounters = "there are no counters of its queues"

func lastCounters(at time.Time) string {
	return fmt.Sprintf("its last counters are of %s", at.UTC().Format(time.RFC3339))
}
