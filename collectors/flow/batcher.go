package flow

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace/millrace/collectors/flow/exporter"
	"github.com/millrace/millrace/collectors/flow/worker"
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
	most    int            // maxHeld, but in tests
	open    []*openBatches // of each worker

	mu      sync.Mutex
	changed *sync.Cond // held
	queues  [queues]queue
	spare   []*flowrecord.Block // memory of batches that were published
	held    int                 // what is open, queued or being published weighs
	onWay   int                 // what is queued or being published does
	closed  bool
	warned  time.Time // when it was last logged that the bus takes nothing

	// instance and count make batch ids that no other run of the collector makes.
	instance string
	count    atomic.Uint64
	// published and unpublished count the records that the bus took, and those it did not before the collector stopped.
	published, unpublished atomic.Uint64
}

// openBatches are those to which one worker adds, so that workers do not wait for each other while they do.
type openBatches struct {
	mu sync.Mutex
	of map[netip.Addr]*outgoing
}

// queues is how many messages are on their way to the bus at a time: Kafka answers for each some ten milliseconds
// later, and there may be thousands of exporters.
const queues = 64

// queue has messages of some exporters, published one after the other, so that each exporter's stay in order.
type queue struct {
	waiting []*outgoing
	more    *sync.Cond // waiting or closed
}

// outgoing is one message: records of one exporter and what there is to say of its hours.
type outgoing struct {
	exporter netip.Addr
	block    *flowrecord.Block
	hours    []exporter.Hour
	tags     []*flowv1.FlowTag // what a host said of its flows: then exporter is the host, and there is no block
	// id is that of a batch that comes again until the bus has it; empty: it comes once. took is called when the bus
	// has the message, and kept tells when it outlives every process; both are nil where nobody asks.
	id   string
	took func()
	kept *bus.Receipt
}

// maxHeld is how many records may wait for the bus: 28 MB, at most twice that where blocks have just grown. Beyond it
// the sockets are not read, and what the kernel then drops is counted there. One read of each socket comes on top.
const maxHeld = 250_000

// tagWeight is that of a tag with its message, of 1.1 kB: four records.
const tagWeight = 4

// weight is in records; an hour has about the size of one.
func (o outgoing) weight() int { return o.block.Rows() + len(o.hours) + tagWeight*len(o.tags) }

func newBatcher(cfg Configuration, deps Dependencies, m *metrics) *batcher {
	b := &batcher{bus: deps.Bus, log: deps.Log, metrics: m, records: cfg.BatchRecords, most: maxHeld, instance: rand.Text()}
	b.changed = sync.NewCond(&b.mu)
	for i := range b.queues {
		b.queues[i].more = sync.NewCond(&b.mu)
	}
	for range cfg.Workers {
		b.open = append(b.open, &openBatches{of: map[netip.Addr]*outgoing{}})
	}
	return b
}

// add takes a worker's records; it waits while the bus is behind.
func (b *batcher) add(w int, records []flowrecord.Record) {
	full := b.admit(len(records))
	b.gather(b.open[w], records)
	if full {
		b.flush(nil)
	}
}

// gather appends to the exporters' open batches.
func (b *batcher) gather(open *openBatches, records []flowrecord.Record) {
	open.mu.Lock()
	defer open.mu.Unlock()
	var to *outgoing
	for i := range records {
		r := &records[i]
		if to == nil || to.exporter != r.Exporter {
			to = b.batch(open, r.Exporter)
		}
		to.block.Append(r)
		if to.block.Rows() >= b.records {
			b.enqueue(to)
			delete(open.of, to.exporter)
			to = nil
		}
	}
}

// admit waits until there is room, and takes it. It reports whether what is open, or comes to be by callers that were
// admitted, then has half of all room: if so, the caller flushes after it has gathered. Hence less than half stays open
// once all have, and a caller that waits here waits for publish, never for the next regular flush.
func (b *batcher) admit(records int) (full bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.held >= b.most {
		b.changed.Wait()
	}
	b.held += records
	return b.held-b.onWay >= b.most/2
}

// enqueue is for publish to take.
func (b *batcher) enqueue(batches ...*outgoing) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, batch := range batches {
		to := &b.queues[worker.Of(batch.exporter, queues)]
		to.waiting = append(to.waiting, batch)
		to.more.Signal()
		b.onWay += batch.weight()
	}
}

// batch is the exporter's open one.
func (b *batcher) batch(open *openBatches, from netip.Addr) *outgoing {
	o := open.of[from]
	if o == nil {
		o = &outgoing{exporter: from, block: b.emptyBlock()}
		open.of[from] = o
	}
	return o
}

func (b *batcher) emptyBlock() *flowrecord.Block {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.spare)
	if n == 0 {
		return &flowrecord.Block{}
	}
	last := b.spare[n-1]
	b.spare = b.spare[:n-1]
	return last
}

// flush publishes what waits, however little it is, and the hours that changed, each with its exporter's records.
func (b *batcher) flush(hours []exporter.Hour) {
	b.hold(len(hours))
	ofWorker := make([][]exporter.Hour, len(b.open))
	for _, h := range hours {
		w := worker.Of(h.Exporter, len(b.open))
		ofWorker[w] = append(ofWorker[w], h)
	}
	for w, open := range b.open {
		b.flushOf(open, ofWorker[w])
	}
}

func (b *batcher) flushOf(open *openBatches, hours []exporter.Hour) {
	open.mu.Lock()
	defer open.mu.Unlock()
	for _, h := range hours {
		o := b.batch(open, h.Exporter)
		o.hours = append(o.hours, h)
	}
	b.enqueue(slices.Collect(maps.Values(open.of))...)
	clear(open.of)
}

// hold counts what may not wait.
func (b *batcher) hold(hours int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held += hours
}

// close ends publish once nothing waits.
func (b *batcher) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for i := range b.queues {
		b.queues[i].more.Signal()
	}
}

// publish runs until close.
func (b *batcher) publish(ctx context.Context) {
	var all sync.WaitGroup
	for i := range b.queues {
		all.Go(func() { b.publishQueue(ctx, &b.queues[i]) })
	}
	all.Wait()
}

func (b *batcher) publishQueue(ctx context.Context, q *queue) {
	for batch, ok := b.next(q); ok; batch, ok = b.next(q) {
		b.publishOne(ctx, batch)
		b.mu.Lock()
		b.held -= batch.weight()
		b.onWay -= batch.weight()
		if batch.block != nil && len(b.spare) < maxSpare {
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
func (b *batcher) next(q *queue) (*outgoing, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(q.waiting) == 0 {
		if b.closed {
			return nil, false
		}
		q.more.Wait()
	}
	first := q.waiting[0]
	q.waiting[0] = nil // so that its memory goes before the slice does
	q.waiting = q.waiting[1:]
	return first, true
}

// retryPause is the time between attempts to publish.
const retryPause = 200 * time.Millisecond

// publishOne tries until the bus takes the batch or the collector is stopped.
func (b *batcher) publishOne(ctx context.Context, batch *outgoing) {
	message := &flowv1.FlowBatch{BatchId: batch.id, Quality: hoursToProto(batch.hours, b.instance), Tags: batch.tags}
	if message.BatchId == "" {
		message.BatchId = fmt.Sprintf("%s-%d", b.instance, b.count.Add(1))
	}
	records := batch.block.Rows()
	if records > 0 {
		message.Block = batch.block.AppendNative(nil)
	}
	ctx, span := trace.Flows(ctx, "publish flow records")
	defer func() { span.End(ctx.Err()) }()
	if span.Sent() {
		span.Set("exporter", batch.exporter.String())
		span.Set("records", strconv.Itoa(records))
	}
	for {
		err := b.send(ctx, batch, message)
		if err == nil {
			b.metrics.published.Add(float64(records))
			b.metrics.fireflies.Add(float64(len(batch.tags)))
			b.published.Add(uint64(records))
			if batch.took != nil {
				batch.took()
			}
			return
		}
		if ctx.Err() != nil && batch.id != "" {
			return
		}
		if ctx.Err() != nil {
			b.metrics.unpublished.Add(float64(records))
			b.unpublished.Add(uint64(records))
			b.metrics.fireflyDrops.WithLabelValues("unpublished").Add(float64(len(batch.tags)))
			b.log.Error("flow records lost: the bus did not take them before the collector was stopped", "records", records, "fireflies", len(batch.tags), "error", err)
			return
		}
		b.warn(err)
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
		}
	}
}

// warnPause is the least time between warnings that the bus takes nothing: all queues find it out at once.
const warnPause = 5 * time.Second

func (b *batcher) warn(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := time.Now(); now.Sub(b.warned) >= warnPause {
		b.warned = now
		b.log.Warn("the bus does not take flow records, trying again", "error", err)
	}
}

func (b *batcher) send(ctx context.Context, batch *outgoing, message *flowv1.FlowBatch) error {
	if batch.kept != nil {
		return b.bus.PublishKept(ctx, batch.kept, bus.TopicFlows, batch.exporter.String(), message)
	}
	return b.bus.Publish(ctx, bus.TopicFlows, batch.exporter.String(), message)
}
