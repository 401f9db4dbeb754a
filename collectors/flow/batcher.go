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

	mu   sync.Mutex
	open map[netip.Addr][]flowrecord.Record

	full chan outgoing
	// instance and count make batch ids that no other run of the collector makes.
	instance string
	count    uint64
	// published counts the records that the bus took.
	published atomic.Uint64
}

// outgoing is one message: records of one exporter and what there is to say of its hours.
type outgoing struct {
	exporter netip.Addr
	records  []flowrecord.Record
	hours    []exporter.Hour
}

// publishQueue is how many full batches may wait for the bus. Beyond it the
// sockets are not read, and what the kernel then drops is counted there.
const publishQueue = 64

func newBatcher(cfg Configuration, deps Dependencies, m *metrics) *batcher {
	return &batcher{
		bus: deps.Bus, log: deps.Log, metrics: m, records: cfg.BatchRecords,
		open: map[netip.Addr][]flowrecord.Record{}, full: make(chan outgoing, publishQueue), instance: rand.Text(),
	}
}

// add takes records; it waits while the bus is behind.
func (b *batcher) add(records []flowrecord.Record) {
	for _, batch := range b.gather(records) {
		b.full <- batch
	}
}

func (b *batcher) gather(records []flowrecord.Record) (full []outgoing) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range records {
		from := records[i].Exporter
		open := append(b.open[from], records[i])
		if len(open) >= b.records {
			full = append(full, outgoing{exporter: from, records: open})
			open = make([]flowrecord.Record, 0, b.records)
		}
		b.open[from] = open
	}
	return full
}

// flush publishes what waits, however little it is, and the hours that changed.
func (b *batcher) flush(hours []exporter.Hour) {
	b.mu.Lock()
	open := b.open
	b.open = map[netip.Addr][]flowrecord.Record{}
	b.mu.Unlock()
	changed := map[netip.Addr][]exporter.Hour{}
	for _, h := range hours {
		changed[h.Exporter] = append(changed[h.Exporter], h)
		if _, ok := open[h.Exporter]; !ok {
			open[h.Exporter] = nil
		}
	}
	for from, records := range open {
		if len(records)+len(changed[from]) > 0 {
			b.full <- outgoing{from, records, changed[from]}
		}
	}
}

// publish runs until full is closed.
func (b *batcher) publish(ctx context.Context) {
	for batch := range b.full {
		b.publishOne(ctx, batch)
	}
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
