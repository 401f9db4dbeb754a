package flow

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/collectors/flow/exporter"
	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/flowrecord"
	"github.com/millrace/millrace/internal/testkit/await"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
)

// away is a bus without room until it is back.
type away struct {
	bus.Bus
	back chan struct{}
}

func (a away) Publish(ctx context.Context, _, _ string, _ proto.Message) error {
	select {
	case <-a.back:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func manyRecords(round, exporters int) []flowrecord.Record {
	records := make([]flowrecord.Record, 5000)
	for i := range records {
		records[i] = flowrecord.Record{Exporter: netip.AddrFrom4([4]byte{10, 0, byte(round % exporters), byte(i % 4)}), Bytes: 1}
	}
	return records
}

func (b *batcher) holds() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

// TestABusThatIsAwayIsWaitedForWithinABound: ten times as much comes as may be held, of 400 exporters, and hours
// beside it.
func TestABusThatIsAwayIsWaitedForWithinABound(t *testing.T) {
	const rounds = 10 * maxHeld / 5000
	bus := away{back: make(chan struct{})}
	cfg := DefaultConfiguration()
	cfg.Workers = 3
	b := newBatcher(cfg, Dependencies{Bus: bus, Log: slog.New(slog.DiscardHandler)}, newMetrics(nil, nil))
	before := heap()
	done := make(chan struct{})
	go func() { b.publish(t.Context()); close(done) }()
	added := make(chan struct{})
	go func() {
		for i := range rounds {
			b.add(i%3, manyRecords(i, 100))
			b.flush([]exporter.Hour{{Exporter: netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})}})
		}
		close(added)
	}()
	await.True(t, "as much is held as may be", func() bool { return b.holds() >= maxHeld })
	const least = 5000 + rounds // one read, and the hours
	if n := b.holds(); n > maxHeld+least {
		t.Errorf("%d records are held, want at most %d and what one read brings", n, maxHeld)
	}
	// A slice that grows has up to twice the room it needs.
	if grown, bound := heap()-before, 2*(maxHeld+least)*int(unsafe.Sizeof(flowrecord.Record{})); grown > bound {
		t.Errorf("the heap has grown by %d bytes, want at most %d", grown, bound)
	}
	select {
	case <-added:
		t.Error("all was taken while the bus was away")
	default:
	}
	bus.backAgain()
	<-added
	b.close()
	<-done
	if n := b.published.Load(); n != rounds*5000 || b.holds() != 0 {
		t.Errorf("%d records published and %d held, want all %d", n, b.holds(), rounds*5000)
	}
}

func (a away) backAgain() { close(a.back) }

func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

func TestLossIsAnEvent(t *testing.T) {
	b := bus.NewMemory()
	defer b.Close()
	told := make(chan *eventv1.Event, 10)
	err := b.Subscribe(t.Context(), bus.TopicEvents, "test", func(_ context.Context, m bus.Message) error {
		e := &eventv1.Event{}
		if err := proto.Unmarshal(m.Value, e); err != nil {
			return err
		}
		told <- e
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(DefaultConfiguration(), Dependencies{Bus: b, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for _, drops := range []uint64{0, 7, 0, 3} {
		c.counts[0][0].drops.Add(drops)
		c.tellOfLoss(t.Context())
	}
	for _, want := range []int{7, 3} { // none where nothing was lost
		e := await.Value(t, "an event", told)
		if e.GetCode() != events.FlowsLost.Code() || !strings.Contains(e.GetText(), fmt.Sprintf("Lost %d datagrams", want)) {
			t.Errorf("event is %v, want %d datagrams lost", e, want)
		}
	}
}

// TestRecordsThatNobodyTookAreCounted: the collector is stopped while the bus is away.
func TestRecordsThatNobodyTookAreCounted(t *testing.T) {
	cfg := DefaultConfiguration()
	cfg.Listen = nil
	c, err := New(cfg, Dependencies{Bus: away{back: make(chan struct{})}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.batcher.add(0, manyRecords(0, 1))
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := c.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if n := c.lost().records; n != 5000 {
		t.Errorf("%d records are counted as lost, want 5000", n)
	}
}
