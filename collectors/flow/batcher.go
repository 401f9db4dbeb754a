package flow

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace/millrace/collectors/flow/exporter"
	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/flowrecord"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// batcher gathers records per exporter, the bus's key, and publishes them.
type batcher struct {
	bus     bus.Bus
	log     *slog.Logger
	metrics *metrics
	records int

	mu      sync.Mutex
	changed *sync.Cond // queue, held or closed
	open    map[netip.Addr][]flowrecord.Record
	queue   []outgoing
	held    int // what open, queue and the batch being published weigh
	closed  bool

	// instance and count make batch ids that no other run of the collector makes.
	instance string
	count    uint64
	// published and unpublished count the records that the bus took, and those it did not before the collector stopped.
	published, unpublished atomic.Uint64
}

// outgoing is one message: records of one exporter and what there is to say of its hours.
type outgoing struct {
	exporter netip.Addr
	records  []flowrecord.Record
	hours    []exporter.Hour
}

// maxHeld is how many records may wait for the bus: some 60 MB. Beyond it the sockets are not read, and what the kernel
// then drops is counted there. One read of a socket comes on top of it.
const maxHeld = 250_000

// weight is in records; an hour has about the size of one.
func (o outgoing) weight() int { return len(o.records) + len(o.hours) }

func newBatcher(cfg Configuration, deps Dependencies, m *metrics) *batcher {
	b := &batcher{
		bus: deps.Bus, log: deps.Log, metrics: m, records: cfg.BatchRecords,
		open: map[netip.Addr][]flowrecord.Record{}, instance: rand.Text(),
	}
	b.changed = sync.NewCond(&b.mu)
	return b
}

// add takes records; it waits while the bus is behind.
func (b *batcher) add(records []flowrecord.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.held >= maxHeld {
		b.changed.Wait()
	}
	b.held += len(records)
	for i := range records {
		from := records[i].Exporter
		b.open[from] = append(b.open[from], records[i])
		if len(b.open[from]) >= b.records {
			b.queue = append(b.queue, outgoing{exporter: from, records: b.open[from]})
			delete(b.open, from)
		}
	}
	b.changed.Broadcast()
}

// flush publishes what waits, however little it is, and the hours that changed.
func (b *batcher) flush(hours []exporter.Hour) {
	b.mu.Lock()
	defer b.mu.Unlock()
	changed := map[netip.Addr][]exporter.Hour{}
	for _, h := range hours {
		changed[h.Exporter] = append(changed[h.Exporter], h)
		if _, ok := b.open[h.Exporter]; !ok {
			b.open[h.Exporter] = nil
		}
	}
	b.held += len(hours)
	for from, records := range b.open {
		b.queue = append(b.queue, outgoing{from, records, changed[from]})
	}
	clear(b.open)
	b.changed.Broadcast()
}

// close ends publish once nothing waits.
func (b *batcher) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.changed.Broadcast()
}

// publish runs until close.
func (b *batcher) publish(ctx context.Context) {
	for batch, ok := b.next(); ok; batch, ok = b.next() {
		b.publishOne(ctx, batch)
		b.mu.Lock()
		b.held -= batch.weight()
		b.changed.Broadcast()
		b.mu.Unlock()
	}
}

// next waits for a batch.
func (b *batcher) next() (outgoing, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.queue) == 0 {
		if b.closed {
			return outgoing{}, false
		}
		b.changed.Wait()
	}
	first := b.queue[0]
	b.queue[0] = outgoing{} // so that its memory goes before the slice does
	b.queue = b.queue[1:]
	return first, true
}

// retryPause is the time between attempts to publish.
const retryPause = 200 * time.Millisecond

// publishOne tries until the bus takes the batch or the collector is stopped.
func (b *batcher) publishOne(ctx context.Context, batch outgoing) {
	records := batch.records
	message := &flowv1.FlowBatch{
		BatchId: fmt.Sprintf("%s-%d", b.instance, b.count), Records: toProto(records), Quality: hoursToProto(batch.hours, b.instance),
	}
	b.count++
	for {
		err := b.bus.Publish(ctx, bus.TopicFlows, batch.exporter.String(), message)
		if err == nil {
			b.metrics.published.Add(float64(len(records)))
			b.published.Add(uint64(len(records)))
			return
		}
		if ctx.Err() != nil {
			b.metrics.unpublished.Add(float64(len(records)))
			b.unpublished.Add(uint64(len(records)))
			b.log.Error("flow records lost: the bus did not take them before the collector was stopped", "records", len(records), "error", err)
			return
		}
		b.log.Warn("the bus does not take flow records, trying again", "error", err)
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
		}
	}
}

func toProto(records []flowrecord.Record) []*flowv1.FlowRecord {
	out := make([]*flowv1.FlowRecord, len(records))
	for i := range records {
		out[i] = records[i].ToProto()
	}
	return out
}
