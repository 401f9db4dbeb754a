package flow

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace/millrace/collectors/flow/exporter"
	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/flowrecord"
	"github.com/millrace/millrace/internal/trace"
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
	open    map[netip.Addr]*outgoing
	queue   []*outgoing
	spare   []*flowrecord.Block // memory of batches that were published
	held    int                 // what open, queue and the batch being published weigh
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
	block    *flowrecord.Block
	hours    []exporter.Hour
}

// maxHeld is how many records may wait for the bus: 27 MB, at most twice that where blocks have just grown. Beyond it
// the sockets are not read, and what the kernel then drops is counted there. One read of a socket comes on top of it.
const maxHeld = 250_000

// weight is in records; an hour has about the size of one.
func (o outgoing) weight() int { return o.block.Rows() + len(o.hours) }

func newBatcher(cfg Configuration, deps Dependencies, m *metrics) *batcher {
	b := &batcher{
		bus: deps.Bus, log: deps.Log, metrics: m, records: cfg.BatchRecords,
		open: map[netip.Addr]*outgoing{}, instance: rand.Text(),
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
	var to *outgoing
	for i := range records {
		r := &records[i]
		if to == nil || to.exporter != r.Exporter {
			to = b.of(r.Exporter)
		}
		to.block.Append(r)
		if to.block.Rows() >= b.records {
			b.queue = append(b.queue, to)
			delete(b.open, to.exporter)
			to = nil
		}
	}
	b.changed.Broadcast()
}

// of is the exporter's open batch.
func (b *batcher) of(from netip.Addr) *outgoing {
	o := b.open[from]
	if o == nil {
		o = &outgoing{exporter: from}
		if n := len(b.spare); n > 0 {
			o.block, b.spare = b.spare[n-1], b.spare[:n-1]
		} else {
			o.block = &flowrecord.Block{}
		}
		b.open[from] = o
	}
	return o
}

// flush publishes what waits, however little it is, and the hours that changed.
func (b *batcher) flush(hours []exporter.Hour) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, h := range hours {
		o := b.of(h.Exporter)
		o.hours = append(o.hours, h)
	}
	b.held += len(hours)
	for _, o := range b.open {
		b.queue = append(b.queue, o)
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
		if len(b.spare) < maxSpare {
			batch.block.Reset()
			b.spare = append(b.spare, batch.block)
		}
		b.changed.Broadcast()
		b.mu.Unlock()
	}
}

// maxSpare is how many batches' memory is kept for the next ones, at most 7 MB each.
const maxSpare = 4

// next waits for a batch.
func (b *batcher) next() (*outgoing, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.queue) == 0 {
		if b.closed {
			return nil, false
		}
		b.changed.Wait()
	}
	first := b.queue[0]
	b.queue[0] = nil // so that its memory goes before the slice does
	b.queue = b.queue[1:]
	return first, true
}

// retryPause is the time between attempts to publish.
const retryPause = 200 * time.Millisecond

// publishOne tries until the bus takes the batch or the collector is stopped.
func (b *batcher) publishOne(ctx context.Context, batch *outgoing) {
	message := &flowv1.FlowBatch{
		BatchId: fmt.Sprintf("%s-%d", b.instance, b.count), Quality: hoursToProto(batch.hours, b.instance),
	}
	records := batch.block.Rows()
	if records > 0 {
		message.Block = batch.block.AppendNative(nil)
	}
	b.count++
	ctx, span := trace.Flows(ctx, "publish flow records")
	defer func() { span.End(ctx.Err()) }()
	if span.Sent() {
		span.Set("exporter", batch.exporter.String())
		span.Set("records", strconv.Itoa(records))
	}
	for {
		err := b.bus.Publish(ctx, bus.TopicFlows, batch.exporter.String(), message)
		if err == nil {
			b.metrics.published.Add(float64(records))
			b.published.Add(uint64(records))
			return
		}
		if ctx.Err() != nil {
			b.metrics.unpublished.Add(float64(records))
			b.unpublished.Add(uint64(records))
			b.log.Error("flow records lost: the bus did not take them before the collector was stopped", "records", records, "error", err)
			return
		}
		b.log.Warn("the bus does not take flow records, trying again", "error", err)
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
		}
	}
}
