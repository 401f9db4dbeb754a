package telemetry

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/gnmiclient"
	telemetryv1 "github.com/millrace/millrace/proto/gen/millrace/telemetry/v1"
)

// watcher keeps one device's stream up.
type watcher struct {
	c      *Component
	device device.Device

	// running lets one run go on at a time: a router that comes back is not read before its last stream has ended.
	running sync.Mutex

	mu    sync.Mutex
	state link
	// unrecorded is since when the other replicas do not know the state, because etcd did not take it; zero if they do.
	unrecorded time.Time
}

// link is the connection state that Devices returns.
type link struct {
	connected bool
	// err is why the stream is down; nil before the first attempt and while it is up.
	err  error
	last time.Time
}

func newWatcher(c *Component, d device.Device) *watcher { return &watcher{c: c, device: d} }

// run reads the device until ctx ends.
func (w *watcher) run(ctx context.Context) {
	w.running.Lock()
	defer w.running.Unlock()
	defer w.leave()
	w.record(ctx)
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = w.c.cfg.MinBackoff, w.c.cfg.MaxBackoff
	for {
		err := w.connect(ctx, wait.Reset)
		if ctx.Err() != nil {
			return
		}
		w.lost(ctx, err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait.NextBackOff()):
		}
	}
}

// connect follows the device until its stream ends; arrived is called with the first counters.
func (w *watcher) connect(ctx context.Context, arrived func()) error {
	dial, cancel := context.WithTimeout(ctx, w.c.cfg.DialTimeout)
	defer cancel()
	client, err := gnmiclient.Dial(dial, w.device, w.c.deps.TLS)
	if err != nil {
		return err
	}
	defer client.Close()
	for n := len(paths); n > 0; n-- {
		var ran bool
		if ran, err = w.follow(ctx, client, paths[:n], arrived); ran || !refused(err) {
			return err
		}
		w.c.deps.Log.WarnContext(ctx, "router does not offer all counters", "device", w.device.Name, "without", paths[n-1:], "error", err)
	}
	return err
}

// refused reports whether the router rejected a path as unknown, as opposed to being unreachable. Of a stream that ran
// it says nothing: that ends so, too, when one of its ports goes.
func refused(err error) bool {
	switch status.Code(err) {
	case codes.Unimplemented, codes.InvalidArgument, codes.NotFound:
		return true
	}
	return false
}

var errSilent = errors.New("the stream brings no counters")

func silent(silence time.Duration) error { return fmt.Errorf("%w for %s", errSilent, silence) }

// follow publishes samples until the stream ends or falls silent. It reports whether the stream ran: whether the router
// said with its sync_response that it had sent something of every path.
func (w *watcher) follow(ctx context.Context, client *gnmiclient.Client, list []string, arrived func()) (ran bool, err error) {
	sub, err := gnmiclient.Sample(w.c.cfg.Interval, list...)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	gathered := gather(ctx, w.c.silence, w.publish, cancel)
	err = client.Subscribe(ctx, sub, func(r *gnmi.SubscribeResponse) error {
		if r.GetUpdate() == nil {
			ran = ran || r.GetSyncResponse()
			return nil
		}
		counters := w.decode(r.GetUpdate())
		if len(counters) > 0 {
			arrived()
		}
		return gathered.add(ctx, counters)
	})
	cause := context.Cause(ctx)
	if err := gathered.end(ctx); err != nil {
		w.c.deps.Log.WarnContext(ctx, "the last counters of a stream are lost", "device", w.device.Name, "error", err)
	}
	if cause != nil {
		return ran, cause
	}
	if err == nil {
		return ran, errors.New("the router ended the stream")
	}
	return ran, err
}

func (w *watcher) decode(n *gnmi.Notification) []*telemetryv1.Counter {
	d := decode(n, time.Now())
	w.c.metrics.unreadable.WithLabelValues(w.device.Name).Add(float64(d.unreadable))
	if d.wrongTime {
		w.c.metrics.wrongTimes.WithLabelValues(w.device.Name).Inc()
	}
	return d.counters
}

func (w *watcher) publish(ctx context.Context, counters []*telemetryv1.Counter) error {
	batch := &telemetryv1.CounterBatch{BatchId: rand.Text(), Device: w.device.Name, Counters: counters}
	if err := w.c.deps.Bus.Publish(ctx, bus.TopicTelemetry, w.device.Name, batch); err != nil {
		return err
	}
	w.c.metrics.counters.WithLabelValues(w.device.Name).Add(float64(len(counters)))
	w.got(ctx)
	return nil
}

// got notes data; the first after a silence is news.
func (w *watcher) got(ctx context.Context) {
	w.mu.Lock()
	news := !w.state.connected
	w.state = link{connected: true, last: time.Now()}
	w.mu.Unlock()
	if news {
		w.c.metrics.connected.WithLabelValues(w.device.Name).Set(1)
		w.c.events.Publish(ctx, events.TelemetryUp, w.device.Name, fmt.Sprintf("Counters of %s come in.", w.device.Name))
	}
	if news || w.due() {
		w.record(ctx)
	}
}

// lost notes why there are no data; that it was lost is news once, more attempts are not.
func (w *watcher) lost(ctx context.Context, err error) {
	w.mu.Lock()
	news := w.state.connected || w.state.err == nil
	w.state.connected, w.state.err = false, err
	w.mu.Unlock()
	w.c.metrics.connected.WithLabelValues(w.device.Name).Set(0)
	w.c.metrics.failures.WithLabelValues(w.device.Name).Inc()
	if news {
		w.c.events.Publish(ctx, events.TelemetryDown, w.device.Name, fmt.Sprintf("No counters of %s: %v. Trying again.", w.device.Name, err))
	}
	if news || w.due() {
		w.record(ctx)
	}
}

func (w *watcher) report() *telemetryv1.Device {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := &telemetryv1.Device{Name: w.device.Name, Address: w.device.Address, Connected: w.state.connected}
	if !w.state.last.IsZero() {
		d.LastUpdate = timestamppb.New(w.state.last)
	}
	switch {
	case w.state.err != nil:
		d.Error = w.state.err.Error()
	case !w.state.connected:
		d.Error = "not connected yet"
	}
	return d
}
