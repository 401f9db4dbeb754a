package bus

import (
	"context"
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"
)

// memoryQueue is how many messages a group may lag before publishers wait.
const memoryQueue = 4096

// Memory is the in-process bus of `millrace up`. Groups live as long as their
// last subscription; what was published before a group subscribed is not
// replayed except on compacted topics. It is a prometheus.Collector.
type Memory struct {
	meter meter
	limit int

	mu     sync.Mutex
	topics map[string]*topic

	wg   sync.WaitGroup // members
	ctx  context.Context
	stop context.CancelFunc
}

// NewMemory returns an empty bus.
func NewMemory() *Memory { return newMemory(memoryQueue) }

func newMemory(limit int) *Memory {
	ctx, stop := context.WithCancel(context.Background())
	return &Memory{meter: newMeter(), limit: limit, topics: map[string]*topic{}, ctx: ctx, stop: stop}
}

// Publish implements Bus. All groups get the message or, after an error, none.
func (b *Memory) Publish(ctx context.Context, name, key string, value proto.Message) error {
	m, err := encode(name, key, value)
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
		wait, accepted := t.offer(m, b.limit)
		if accepted {
			b.meter.published.WithLabelValues(name).Inc()
			return nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
		case <-b.ctx.Done():
		}
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
	m := &member{topic: t, group: g, handler: handler, meter: b.meter}
	ctx, cancel := context.WithCancel(ctx)
	unlink := context.AfterFunc(b.ctx, cancel)
	b.wg.Go(func() {
		defer cancel()
		defer unlink()
		defer t.leave(g)
		m.run(ctx)
	})
	return nil
}

// Close implements Bus.
func (b *Memory) Close() error {
	b.mu.Lock() // so that no Subscribe adds to wg once Wait runs
	b.stop()
	b.mu.Unlock()
	b.wg.Wait()
	return nil
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
		t.lags(func(group string, lag int) { out <- lagMetric(t.name, group, int64(lag)) })
	}
}
