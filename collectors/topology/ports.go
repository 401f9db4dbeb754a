package topology

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	// routers have the number of readings that look at each of them still.
	routers map[string]int
	// since is when the ports changed, done how many of the readings after that have begun, and began when the last one
	// did, of these or of those before.
	since, began time.Time
	done         int
}

// note takes a change of a router's port. The readings begin anew where one of them has begun: it may have been before
// the change.
func (c changes) note(router string, now time.Time) changes {
	c.routers = maps.Clone(c.routers)
	if c.routers == nil {
		c.routers = map[string]int{}
	}
	c.routers[router] = len(readings)
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
	left = changes{routers: map[string]int{}, since: c.since, began: now, done: c.done + 1}
	for name, n := range c.routers {
		if n > 1 {
			left.routers[name] = n - 1
		}
	}
	if left.done == len(readings) {
		left = changes{began: now}
	}
	return slices.Sorted(maps.Keys(c.routers)), left
}

// waker has changes come to the loop that reads.
type waker struct {
	mu      sync.Mutex
	changes changes
	// more is sent to when a change was noted.
	more chan struct{}
	// briefly is the constant's.
	briefly time.Duration
}

func newWaker() *waker { return &waker{more: make(chan struct{}, 1), briefly: briefly} }

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

// hurried bounds what one router may take in such a reading. The one whose database is read may be the one that has
// lost its power: then the next one's is.
const hurried = 2 * time.Second

// hurry reads whenever ports have changed, until ctx ends. It never takes the lead: that is for turns, which know when
// to leave it to others.
func (c *Component) hurry(ctx context.Context) {
	broken := false
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
		if c.leader != nil && !c.leader.Held() {
			continue
		}
		err := c.read(ctx, reading{
			of:      func(r *router) bool { return due(r) && slices.Contains(names, r.device.Name) },
			timeout: min(hurried, c.cfg.Timeout), listens: true,
		})
		if err != nil && ctx.Err() == nil && !broken {
			c.deps.Log.WarnContext(ctx, "topology not read after ports have changed", "routers", names, "error", err)
		}
		broken = err != nil
	}
}

// A stream that ends within briefly is not asked for again for as long as pause.
const briefly, pause = 10 * time.Second, time.Minute

// hear has a router tell of its ports, where it does not yet, and has not refused to.
func (r *router) hear() {
	last := r.brief.Load()
	if r.mute.Load() || last != nil && time.Since(*last) < pause || !r.listening.CompareAndSwap(false, true) {
		return
	}
	client := r.client
	r.c.loops.Go(func(ctx context.Context) {
		defer r.listening.Store(false)
		began := time.Now()
		err := r.listen(ctx, client)
		if ctx.Err() != nil {
			return
		}
		switch status.Code(err) {
		case codes.Canceled: // the connection was closed
			return
		case codes.Unimplemented, codes.InvalidArgument, codes.NotFound:
			r.mute.Store(true)
		default:
			if time.Since(began) >= r.c.ports.briefly {
				return
			}
			ended := time.Now()
			r.brief.Store(&ended)
		}
		r.c.deps.Log.InfoContext(ctx, "router does not tell of its ports; they are read in intervals", "device", r.device.Name, "error", err)
	})
}

// listen notes each change of a port for as long as the stream lasts. What a port is like at first is none, nor is what
// a router says again.
func (r *router) listen(ctx context.Context, client *gnmiclient.Client) error {
	q, err := gnmiclient.OnChange(pathOperStatus)
	if err != nil {
		return err
	}
	ports := map[string]string{}
	return client.Subscribe(ctx, q, func(m *gnmi.SubscribeResponse) error {
		n := m.GetUpdate()
		for _, gone := range n.GetDelete() {
			if err := forget(ports, gnmiclient.Join(n.GetPrefix(), gone)); err != nil {
				return err
			}
			r.c.ports.note(r.device.Name)
		}
		for _, u := range n.GetUpdate() {
			path, err := gnmiclient.FormatPath(gnmiclient.Join(n.GetPrefix(), u.GetPath()))
			if err != nil {
				return err
			}
			is := fmt.Sprint(u.GetVal().GetValue())
			if was, known := ports[path]; known && was != is {
				r.c.ports.note(r.device.Name)
			}
			ports[path] = is
		}
		return nil
	})
}

// forget leaves nothing of what was said of a port, or of all below a path: that it is there again is a change,
// whatever it is like.
func forget(ports map[string]string, gone *gnmi.Path) error {
	below, err := gnmiclient.FormatPath(gone)
	for path := range ports {
		if err == nil && strings.HasPrefix(path, below) {
			ports[path] = ""
		}
	}
	return err
}
