package topology

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/internal/gnmiclient"
)

// pathOperStatus is what routers tell at once: a port that goes down or comes back. What that does to the link-state
// database they do not tell.
const pathOperStatus = "/interfaces/interface[name=*]/state/oper-status"

// readings are the times after a port's change at which the network is read: when the routers have flooded it, again
// where the first was too early, and once more after the longest that a router may wait before it announces a second
// change of the same link (RFC 2328, MinLSInterval of 5 s). Then the interval is enough again.
var readings = []time.Duration{200 * time.Millisecond, time.Second, 6 * time.Second}

// apart is how long one such reading begins after another at least: a port that flaps does not take the collector.
const apart = time.Second

// changes are the routers of which ports have changed, and the readings that are still to come.
type changes struct {
	routers []string
	// since is when the ports changed, done how many of the readings after that have begun, and began when the last one
	// did, of these or of those before.
	since, began time.Time
	done         int
}

// note takes a change of a router's port. The readings begin anew where one of them has begun: it may have been before
// the change.
func (c changes) note(router string, now time.Time) changes {
	if !slices.Contains(c.routers, router) {
		c.routers = append(slices.Clip(c.routers), router)
	}
	if c.since.IsZero() || c.done > 0 {
		c.since, c.done = now, 0
	}
	return c
}

// wait is how long from now until the next reading; none is to come where it is negative.
func (c changes) wait(now time.Time) time.Duration {
	if c.since.IsZero() {
		return -1
	}
	return max(0, c.since.Add(readings[c.done]).Sub(now), c.began.Add(apart).Sub(now))
}

// read is for a reading that begins: whose ports it looks at, and what is left to do.
func (c changes) read(now time.Time) (routers []string, left changes) {
	if c.done+1 == len(readings) {
		return c.routers, changes{began: now}
	}
	left = c
	left.done, left.began = c.done+1, now
	return c.routers, left
}

// waker has changes come to the loop that reads.
type waker struct {
	mu      sync.Mutex
	changes changes
	// more is sent to when a change was noted.
	more chan struct{}
}

func newWaker() *waker { return &waker{more: make(chan struct{}, 1)} }

func (w *waker) note(router string) {
	w.mu.Lock()
	w.changes = w.changes.note(router, time.Now())
	w.mu.Unlock()
	select {
	case w.more <- struct{}{}:
	default: // it is awake
	}
}

func (w *waker) wait() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changes.wait(time.Now())
}

func (w *waker) read() (routers []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	routers, w.changes = w.changes.read(time.Now())
	return routers
}

// hurry reads whenever ports have changed, until ctx ends.
func (c *Component) hurry(ctx context.Context) {
	for {
		var next <-chan time.Time
		if d := c.ports.wait(); d >= 0 {
			next = time.After(d)
		}
		select {
		case <-ctx.Done():
			return
		case <-c.ports.more:
			continue
		case <-next:
		}
		names := c.ports.read()
		if !c.reads(ctx) {
			continue
		}
		err := c.read(ctx, func(r *router) bool { return slices.Contains(names, r.device.Name) })
		if err != nil && ctx.Err() == nil {
			c.deps.Log.WarnContext(ctx, "topology not read after ports have changed", "routers", names, "error", err)
		}
	}
}

// listen has a router tell of its ports for as long as the connection lasts; one that cannot is read in intervals.
func (r *router) listen(ctx context.Context, client *gnmiclient.Client) {
	q, err := gnmiclient.OnChange(pathOperStatus)
	if err != nil {
		return // the path is a constant
	}
	synced := false
	err = client.Subscribe(ctx, q, func(m *gnmi.SubscribeResponse) error {
		synced = synced || m.GetSyncResponse()
		if synced && m.GetUpdate() != nil {
			r.c.ports.note(r.device.Name)
		}
		return nil
	})
	switch status.Code(err) {
	case codes.Unimplemented, codes.InvalidArgument, codes.NotFound:
		r.mute.Store(true)
		r.c.deps.Log.InfoContext(ctx, "router does not tell of its ports; they are read in intervals", "device", r.device.Name, "error", err)
	}
}
