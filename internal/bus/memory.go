package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"
)

// room is how far a group may lag before publishers wait. Messages bound the time to find the next one of a free key,
// bytes the memory that a topic holds: messages are kept once, however many groups wait for them.
type room struct{ messages, bytes int }

// MemoryBytes is how much a topic of the in-process bus holds: two messages of the largest size for each of eight keys.
const MemoryBytes = 64 << 20

var memoryRoom = room{messages: 4096, bytes: MemoryBytes}

// Memory is the in-process bus of `millrace up`. Groups live as long as their
// last subscription; what was published before a group subscribed is not
// replayed except on compacted topics. It is a prometheus.Collector.
type Memory struct {
	meter meter
	room  room

	mu     sync.Mutex
	topics map[string]*topic

	wg   sync.WaitGroup // members
	ctx  context.Context
	stop context.CancelFunc
}

// NewMemory returns an empty bus.
func NewMemory() *Memory { return newMemory(memoryRoom) }

func newMemory(room room) *Memory {
	ctx, stop := context.WithCancel(context.Background())
	return &Memory{meter: newMeter(), room: room, topics: map[string]*topic{}, ctx: ctx, stop: stop}
}

// Publish implements Bus. All groups get the message or, after an error, none.
func (b *Memory) Publish(ctx context.Context, name, key string, value proto.Message) error {
	return b.publish(ctx, nil, name, key, value)
}

// PublishKept implements Bus: the receipt is settled once the topic's keeper has handled the message, or once it is on
// the disk for the next start.
func (b *Memory) PublishKept(ctx context.Context, r *Receipt, name, key string, value proto.Message) error {
	return b.publish(ctx, r, name, key, value)
}

func (b *Memory) publish(ctx context.Context, r *Receipt, name, key string, value proto.Message) error {
	m, err := encode(ctx, name, key, value)
	if err != nil {
		return err
	}
	t := b.topic(name)
	for {
		if b.ctx.Err() != nil {
			return ErrClosed
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("publish to %s: %w", name, err)
		}
		wait, err := t.offer(m, b.room, r)
		if err != nil {
			return fmt.Errorf("publish to %s: %w", name, err)
		}
		if wait == nil {
			b.meter.published.WithLabelValues(name).Inc()
			return nil
		}
		t.waiting.Add(1)
		select {
		case <-wait:
		case <-ctx.Done():
		case <-b.ctx.Done():
		}
		t.waiting.Add(-1)
	}
}

// Subscribe implements Bus.
func (b *Memory) Subscribe(ctx context.Context, name, groupName string, handler Handler) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx.Err() != nil {
		return ErrClosed
	}
	t := b.topicLocked(name)
	g := t.join(groupName)
	b.meter.joins(name, groupName)
	m := &member{topic: t, group: g, handler: handler, meter: b.meter}
	ctx, cancel := context.WithCancel(ctx)
	unlink := context.AfterFunc(b.ctx, cancel)
	b.wg.Go(func() {
		defer cancel()
		defer unlink()
		defer func() {
			if lost := t.leave(g); lost > 0 && !Compacted[name] {
				b.left(name, groupName, lost)
			}
		}()
		m.run(ctx)
	})
	return nil
}

// Ready returns an error while a publisher waits for a group that lags.
func (b *Memory) Ready(context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(b.topics)) {
		if n := b.topics[name].waiting.Load(); n > 0 {
			errs = append(errs, fmt.Errorf("the bus is full: %d publishers wait on %s", n, name))
		}
	}
	return errors.Join(errs...)
}

// Close implements Bus. What no member took by then is lost, counted and logged, unless it is a keeper's and there is a
// folder for it.
func (b *Memory) Close() error {
	b.mu.Lock() // so that no Subscribe adds to wg once Wait runs
	b.stop()
	b.mu.Unlock()
	b.wg.Wait()
	return b.keepWaiting()
}

// left reports the messages that a group had not handled when its last member left.
func (b *Memory) left(topic, group string, messages int) {
	b.meter.lost.WithLabelValues(topic, group).Add(float64(messages))
	slog.Error("messages lost: they were in memory when the last member of their group left", "topic", topic, "group", group, "messages", messages)
}

func (b *Memory) topic(name string) *topic {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.topicLocked(name)
}

func (b *Memory) topicLocked(name string) *topic {
	t, ok := b.topics[name]
	if !ok {
		t = newTopic(name, Compacted[name])
		b.topics[name] = t
	}
	return t
}

// Describe implements prometheus.Collector.
func (b *Memory) Describe(out chan<- *prometheus.Desc) { b.meter.describe(out) }

// Collect implements prometheus.Collector.
func (b *Memory) Collect(out chan<- prometheus.Metric) {
	b.meter.collect(out)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range b.topics {
		t.lags(func(group string, messages, bytes int) {
			out <- lagMetric(t.name, group, int64(messages))
			out <- heldMetric(t.name, group, bytes)
		})
	}
}
