package bus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
)

// ErrClosed is returned by Publish and Subscribe after Close.
var ErrClosed = errors.New("bus is closed")

const (
	// memoryQueue is how many messages a group may lag before publishers wait.
	memoryQueue = 4096
	// Redelivery backs off between these bounds.
	minRetry = 10 * time.Millisecond
	maxRetry = 5 * time.Second
)

// Memory is the in-process bus of `millrace up`: one queue per topic and group.
// Groups live as long as their subscription; what was published before a group
// subscribed is not replayed except on compacted topics.
type Memory struct {
	mu     sync.Mutex
	groups map[string]map[string]*group // topic → group name
	last   map[string]map[string]Message // compacted topic → key
	closed bool
	wg     sync.WaitGroup
	stop   context.CancelFunc
	ctx    context.Context
}

type group struct{ queue chan Message }

// NewMemory returns an empty bus.
func NewMemory() *Memory {
	ctx, stop := context.WithCancel(context.Background())
	return &Memory{
		groups: map[string]map[string]*group{},
		last:   map[string]map[string]Message{},
		ctx:    ctx,
		stop:   stop,
	}
}

// Publish implements Bus.
func (b *Memory) Publish(ctx context.Context, topic, key string, value proto.Message) error {
	raw, err := proto.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode message for %s: %w", topic, err)
	}
	m := Message{Topic: topic, Key: key, Value: raw}
	groups, err := b.accept(m)
	if err != nil {
		return err
	}
	for _, g := range groups {
		select {
		case g.queue <- m:
		case <-ctx.Done():
			return fmt.Errorf("publish to %s: %w", topic, ctx.Err())
		case <-b.ctx.Done():
			return ErrClosed
		}
	}
	return nil
}

func (b *Memory) accept(m Message) ([]*group, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, ErrClosed
	}
	if Compacted[m.Topic] {
		if b.last[m.Topic] == nil {
			b.last[m.Topic] = map[string]Message{}
		}
		b.last[m.Topic][m.Key] = m
	}
	groups := make([]*group, 0, len(b.groups[m.Topic]))
	for _, g := range b.groups[m.Topic] {
		groups = append(groups, g)
	}
	return groups, nil
}

// Subscribe implements Bus. A second member of a group shares its queue.
func (b *Memory) Subscribe(ctx context.Context, topic, name string, handler Handler) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return ErrClosed
	}
	if b.groups[topic] == nil {
		b.groups[topic] = map[string]*group{}
	}
	g, ok := b.groups[topic][name]
	if !ok {
		g = &group{queue: make(chan Message, memoryQueue)}
		b.groups[topic][name] = g
		for _, m := range b.last[topic] {
			g.queue <- m
		}
	}
	b.wg.Add(1)
	go b.deliver(ctx, topic, name, g, handler)
	return nil
}

func (b *Memory) deliver(ctx context.Context, topic, name string, g *group, handler Handler) {
	defer b.wg.Done()
	defer b.leave(topic, name)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(b.ctx, cancel)()
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-g.queue:
			if !redeliver(ctx, m, handler) {
				return
			}
		}
	}
}

// redeliver calls handler until it takes the message; false when ctx ended first.
func redeliver(ctx context.Context, m Message, handler Handler) bool {
	for wait := minRetry; ; wait = min(2*wait, maxRetry) {
		if handler(ctx, m) == nil {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(wait):
		}
	}
}

// leave forgets the group so that publishers do not wait for a queue nobody reads.
func (b *Memory) leave(topic, name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.groups[topic], name)
}

// Close implements Bus.
func (b *Memory) Close() error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.stop()
	b.wg.Wait()
	return nil
}
