package telemetry

import (
	"context"
	"sync"
	"time"

	telemetryv1 "github.com/millrace/millrace/proto/gen/millrace/telemetry/v1"
)

const (
	// linger is how long the first counter of a message waits for others. A router sends a sample port by port, as a
	// notification each; as a message each they cost the bus and the store far more than their counters do.
	linger = 200 * time.Millisecond
	// maxCounters bounds a message far below what the bus takes: the longest paths have some 250 octets.
	maxCounters = 2000
	// lastMessage bounds the wait for the bus once a stream has ended.
	lastMessage = time.Second
)

// gatherer puts what a stream brings within a moment into one message.
type gatherer struct {
	publish func(context.Context, []*telemetryv1.Counter) error
	// silence is how long the stream may bring no counters.
	silence time.Duration
	// hurry ends the wait of a message that the timer sends.
	hurry context.CancelFunc

	mu       sync.Mutex
	counters []*telemetryv1.Counter
	// timer sends what has been gathered; watchdog ends a silent stream. It stands still while the bus has no room:
	// that holds us up, and not the router.
	timer, watchdog *time.Timer
}

// gather is for one stream: failed gets the error of a message that the timer sent, and that the stream is silent.
func gather(ctx context.Context, silence time.Duration, publish func(context.Context, []*telemetryv1.Counter) error, failed func(error)) *gatherer {
	ctx, hurry := context.WithCancel(ctx)
	g := &gatherer{publish: publish, silence: silence, hurry: hurry}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.watchdog = time.AfterFunc(silence, func() { failed(silent(silence)) })
	g.timer = time.AfterFunc(linger, func() {
		if err := g.flush(ctx); err != nil {
			failed(err)
		}
	})
	return g
}

// add takes the counters of a notification, of which there may be none: that is as good as no notification. It waits
// while the bus has no room.
func (g *gatherer) add(ctx context.Context, counters []*telemetryv1.Counter) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(counters) == 0 {
		return nil
	}
	g.watchdog.Reset(g.silence)
	if len(g.counters) == 0 {
		g.timer.Reset(linger)
	}
	g.counters = append(g.counters, counters...)
	if len(g.counters) < maxCounters {
		return nil
	}
	return g.send(ctx)
}

func (g *gatherer) flush(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.send(ctx)
}

// end sends what is left of a stream that has ended, also when its reader was asked to stop.
func (g *gatherer) end(ctx context.Context) error {
	g.hurry()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastMessage)
	defer cancel()
	defer g.watchdog.Stop()
	return g.flush(ctx)
}

func (g *gatherer) send(ctx context.Context) error {
	g.timer.Stop()
	g.watchdog.Stop()
	defer g.watchdog.Reset(g.silence)
	for len(g.counters) > 0 {
		n := min(len(g.counters), maxCounters)
		if err := g.publish(ctx, g.counters[:n:n]); err != nil {
			return err // what was not taken is left for the end
		}
		g.counters = g.counters[n:]
	}
	g.counters = nil
	return nil
}
