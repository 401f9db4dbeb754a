package topology

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/gnmiclient"
	"github.com/millrace/millrace/internal/topo"
)

// router is the collector's state of one device. Only one reading runs at a time.
type router struct {
	c      *Component
	device device.Device
	client *gnmiclient.Client
	// interfaces are the last that were read; a router that does not answer keeps them.
	interfaces []topo.Interface
	// err is why the last reading failed; nil if it did not.
	err   error
	tried bool
	wait  *backoff.ExponentialBackOff
	next  time.Time
	// listening is true while the router can tell of its ports, mute once it has refused to, and until it is connected
	// to again.
	listening, mute atomic.Bool
	// brief is when a stream of it ended soon after it began.
	brief atomic.Pointer[time.Time]
}

func newRouter(c *Component, d device.Device) *router {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval, wait.Multiplier = c.cfg.Interval, c.cfg.MaxBackoff, 2
	return &router{c: c, device: d, wait: wait}
}

// readInterfaces reads port names and speeds from the router itself, the only source of them. One that was hurried, and
// is not done in time, is not gone: it keeps its ports until the next reading. Nor is one gone whose reading was ended
// by who requested it.
func (r *router) readInterfaces(ctx context.Context, what reading) {
	doc, err := r.get(ctx, pathInterfaces, what.timeout)
	if err == nil {
		var ports []topo.Interface
		if ports, err = parseInterfaces(doc); err == nil {
			r.interfaces = ports
		}
	}
	if errors.Is(err, errLeft) || what.timeout != 0 && late(err) {
		return
	}
	r.note(ctx, err)
	if err == nil && what.listens && r.c.leads {
		r.hear()
	}
}

// readTED reads the link-state database of all areas the router is in. A router that does not answer is left alone for
// a while, so that the next readings do not wait for it; one that was hurried may answer later.
func (r *router) readTED(ctx context.Context, what reading) ([]topo.Snapshot, error) {
	doc, err := r.get(ctx, pathProtocols, what.timeout)
	if err != nil {
		if !errors.Is(err, errLeft) && what.timeout == 0 && unanswered(err) {
			r.note(ctx, err)
		}
		return nil, err
	}
	return parseTED(doc)
}

func unanswered(err error) bool { return late(err) || status.Code(err) == codes.Unavailable }

func late(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || status.Code(err) == codes.DeadlineExceeded
}

// errLeft: who requested the reading left, or gave it no more time. It says nothing about the router.
var errLeft = errors.New("the reading was given up")

// get is ask, with errLeft where it applies. A router may end a call before the caller's time is over here, since gRPC
// sends the deadline along.
func (r *router) get(ctx context.Context, path string, timeout time.Duration) ([]byte, error) {
	if timeout == 0 {
		timeout = r.c.cfg.Timeout
	}
	own := time.Now().Add(timeout)
	doc, err := r.ask(ctx, path, own)
	if by, bounded := ctx.Deadline(); err != nil && (ctx.Err() != nil || bounded && by.Before(own) && late(err)) {
		return nil, fmt.Errorf("%w: %w", errLeft, err)
	}
	return doc, err
}

func (r *router) ask(ctx context.Context, path string, until time.Time) ([]byte, error) {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	if r.client == nil {
		client, err := gnmiclient.Dial(ctx, r.device, r.c.deps.TLS)
		if err != nil {
			return nil, err
		}
		r.client = client
	}
	return r.client.StateJSON(ctx, path)
}

// note remembers how it went; a change is news.
func (r *router) note(ctx context.Context, err error) {
	news := !r.tried || (err == nil) != (r.err == nil)
	r.err, r.tried = err, true
	if err == nil {
		r.wait.Reset()
		r.next = time.Time{}
		r.c.metrics.reachable.WithLabelValues(r.device.Name).Set(1)
		if news {
			r.c.tell(ctx, events.RouterReachable, r.device.Name, "Router "+r.device.Name+" answers.")
		}
		return
	}
	r.close()
	r.next = time.Now().Add(r.wait.NextBackOff())
	r.c.metrics.reachable.WithLabelValues(r.device.Name).Set(0)
	r.c.metrics.failures.WithLabelValues(r.device.Name).Inc()
	if news {
		r.c.tell(ctx, events.RouterUnreachable, r.device.Name, "Router "+r.device.Name+" does not answer: "+err.Error()+". Trying again.")
	}
}

// close drops the connection, so that the next reading starts with a new one.
func (r *router) close() {
	if r.client != nil {
		r.client.Close()
		r.client = nil
		r.mute.Store(false)
		r.brief.Store(nil)
	}
}
