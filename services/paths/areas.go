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

// readAt is when an area was read: when its snapshot came, but for what the topic has kept while nobody read. The first
// snapshot is as old as it says, and those after it as much younger as they say where they come faster than they were
// read: Kafka compacts only what is an hour old, and delivers the rest at once. Clocks of two collectors differ, so one
// that says it is older is as old as the one before it, if it comes at once.
func (c *Component) readAt(last, s topo.Snapshot, known bool, now time.Time) time.Time {
	later := max(s.Time.Sub(last.Time), 0)
	switch {
	case !known && !s.Time.IsZero() && s.Time.Before(now):
		return s.Time
	case known && now.Sub(c.came[s.Area]) < max(later, atOnce) && c.read[s.Area].Add(later).Before(now):
		return c.read[s.Area].Add(later)
	}
	return now
}

// atOnce is how soon after each other snapshots come that wait on the topic. Collectors read less often.
const atOnce = time.Second

// hear notes when an area was read, and forgets those that are gone, which it returns.
func (c *Component) hear(ctx context.Context, last, s topo.Snapshot, known bool, now time.Time) []string {
	at := c.readAt(last, s, known, now)
	c.came[s.Area] = now
	c.read[s.Area] = at
	if heard := c.heard.Load(); heard == nil || at.After(*heard) {
		c.heard.Store(&at)
	}
	left := gone(c.read)
	for _, area := range left {
		c.deps.Log.WarnContext(ctx, "area left out of the topology: others are read, and it is not", "area", area, "read", c.read[area])
		delete(c.areas, area)
		delete(c.read, area)
		delete(c.came, area)
		c.metrics.read.DeleteLabelValues(area)
	}
	return left
}
