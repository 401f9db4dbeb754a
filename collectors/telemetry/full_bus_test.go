package telemetry

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/gnmiclient/gnmitest"
	"github.com/millrace/millrace/internal/testkit/await"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
)

// fullBus rejects counters until the test makes room.
type fullBus struct {
	bus.Bus
	room chan struct{}
	// waited is what each Publish came to that found no room.
	waited chan error
	full   atomic.Bool
}

func (b *fullBus) Publish(ctx context.Context, topic, key string, m proto.Message) error {
	if topic == bus.TopicTelemetry && b.full.CompareAndSwap(true, false) {
		select {
		case <-ctx.Done():
			b.waited <- context.Cause(ctx)
			return ctx.Err()
		case <-b.room:
			b.waited <- nil
		}
	}
	return b.Bus.Publish(ctx, topic, key, m)
}

// TestAFullBusIsNoSilentRouter (review F8): a store that is down must not have every router reported as down.
func TestAFullBusIsNoSilentRouter(t *testing.T) {
	certs := gnmitest.NewCerts(t)
	s := router(t, "wr", certs)
	s.Start(t)
	memory := bus.NewMemory()
	defer memory.Close()
	b := &fullBus{Bus: memory, room: make(chan struct{}), waited: make(chan error, 1)}
	b.full.Store(true)
	news := make(chan *eventv1.Event, 100)
	subscribe(t, memory, bus.TopicEvents, news, func() *eventv1.Event { return &eventv1.Event{} })
	cfg := DefaultConfiguration()
	cfg.MinBackoff, cfg.MaxBackoff = time.Millisecond, 20*time.Millisecond
	c, err := New(cfg, Dependencies{
		Inventory: &device.Inventory{Devices: []device.Device{s.Device}}, TLS: certs.Client, Bus: b, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	c.silence = 500 * time.Millisecond
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer c.Stop(t.Context()) //nolint:errcheck // the test ends
	// The bus is full for as long as the watchdog of a silent router would bark four times.
	select {
	case err := <-b.waited:
		t.Fatalf("the stream of a router was ended because the bus was full: %v", err)
	case <-time.After(4 * c.silence):
	}
	close(b.room)
	if err := await.Value(t, "the counters are taken", b.waited); err != nil {
		t.Errorf("the stream of a router was ended because the bus was full: %v", err)
	}
	for next(t, news).GetCode() != "telemetry-up" { // on a slow machine the first sample itself may be late
	}
	// Then the router sends nothing, which is what the watchdog is for.
	if e := next(t, news); e.GetCode() != "telemetry-down" || !strings.Contains(e.GetText(), errSilent.Error()) {
		t.Errorf("after the counters: %s: %s", e.GetCode(), e.GetText())
	}
}
