package paths

import (
	"context"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/topo"
)

// maxAge is how long an area stays that no collector reads while others are read: as long as a router keeps the LSAs
// of one that is gone (RFC 2328, MaxAge).
const maxAge = time.Hour

// gone are the areas of which the last reading is older than MaxAge where the latest of any area is. Where nothing is
// read, nothing is known to be gone.
func gone(read map[string]time.Time) (out []string) {
	var latest time.Time
	for _, at := range read {
		if at.After(latest) {
			latest = at
		}
	}
	for area, at := range read {
		if latest.Sub(at) > maxAge {
			out = append(out, area)
		}
	}
	slices.Sort(out)
	return out
}

// hear notes that an area has just been read, and forgets those that are gone, which it returns. The first snapshot of
// an area may be old: the topic has kept it while nobody read.
func (c *Component) hear(ctx context.Context, s topo.Snapshot, known bool, now time.Time) []string {
	at := now
	if !known && !s.Time.IsZero() && s.Time.Before(now) {
		at = s.Time
	}
	c.read[s.Area] = at
	if last := c.heard.Load(); last == nil || at.After(*last) {
		c.heard.Store(&at)
	}
	left := gone(c.read)
	for _, area := range left {
		c.deps.Log.WarnContext(ctx, "area left out of the topology: others are read, and it is not", "area", area, "read", c.read[area])
		delete(c.areas, area)
		delete(c.read, area)
		c.metrics.read.DeleteLabelValues(area)
	}
	return left
}
