package bus

import (
	"container/list"
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// topic is one topic of Memory. A single lock covers it and its groups, so that
// all groups see publishes in the same order and a compacted topic's last
// message is the one its groups saw last.
type topic struct {
	name string
	// waiting are the publishers for which there is no room.
	waiting atomic.Int64

	mu     sync.Mutex
	groups map[string]*group
	// last holds the last message of each key; nil unless the topic is compacted.
	last map[string]Message
	// changed is closed, and replaced, whenever somebody may be able to go on.
	changed chan struct{}
	// stopping: nobody waits for room any longer. ended: nothing is taken any longer.
	stopping, ended bool
}

// group is the messages that a consumer group has not taken yet, oldest first.
type group struct {
	name    string
	members int
	queue   list.List // of *delivery
	bytes   int       // of the messages in queue
	// busy are the keys some member is handling or waiting to retry: order per
	// key holds because nobody else may take a message of these.
	busy map[string]bool
	// file is where a keeper's messages wait for the next start; nil: the group goes with its last member. waited are
	// those of the last start that it has not taken yet.
	file   *waitingFile
	waited int
}

type delivery struct {
	Message
	failures int
	receipt  *Receipt // may be nil
	waited   bool
}

func newTopic(name string, compacted bool) *topic {
	t := &topic{name: name, groups: map[string]*group{}, changed: make(chan struct{})}
	if compacted {
		t.last = map[string]Message{}
	}
	return t
}

// signal wakes all who wait; call it with mu held.
func (t *topic) signal() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// push queues a message, whatever room there is.
func (g *group) push(m Message, r *Receipt) {
	r.add()
	g.queue.PushBack(&delivery{Message: m, receipt: r})
	g.bytes += m.size()
}

func (g *group) pop(e *list.Element) Message {
	m := g.queue.Remove(e).(*delivery).Message
	g.bytes -= m.size()
	return m
}

// full reports whether m must wait. Any message fits into an empty queue.
func (g *group) full(m Message, r room) bool {
	return g.queue.Len() > 0 && (g.queue.Len() >= r.messages || g.bytes+m.size() > r.bytes)
}

// offer queues m for every group, or for none if one of them is full; then it
// returns what to wait for. A receipt is the keeper's to settle.
func (t *topic) offer(m Message, r room, receipt *Receipt) (wait <-chan struct{}, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return nil, ErrClosed
	}
	keeper := t.groups[Keepers[t.name]]
	if receipt != nil && keeper == nil {
		return nil, ErrNotKept
	}
	for _, g := range t.groups {
		if !t.stopping && g.full(m, r) {
			return t.changed, nil
		}
	}
	if t.last != nil {
		t.last[m.Key] = m
	}
	for _, g := range t.groups {
		if g == keeper {
			g.push(m, receipt)
		} else {
			g.push(m, nil)
		}
	}
	t.signal()
	return nil, nil
}

// join adds a member. On a compacted topic it starts with the last message of
// every key, however many those are, even if the group is there already: the
// member before it may be about to leave with all it learnt.
func (t *topic) join(name string) *group {
	t.mu.Lock()
	defer t.mu.Unlock()
	g, ok := t.groups[name]
	if !ok {
		g = &group{name: name, busy: map[string]bool{}}
		t.groups[name] = g
	}
	for _, key := range slices.Sorted(maps.Keys(t.last)) {
		g.push(t.last[key], nil)
	}
	g.members++
	t.signal()
	return g
}

// leave takes a member out; the last one takes the group with it, so that
// publishers do not wait for a queue nobody reads, unless its messages wait for
// the next start. lost is how many messages go with the group.
func (t *topic) leave(g *group) (lost int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g.members--
	if g.members == 0 && g.file == nil {
		delete(t.groups, g.name)
		lost = g.queue.Len()
		for e := g.queue.Front(); e != nil; e = e.Next() {
			e.Value.(*delivery).receipt.settle(ErrNotKept)
		}
	}
	t.signal()
	return lost
}

// next is the oldest message whose key is free, now reserved for the caller,
// or what to wait for.
func (t *topic) next(g *group) (*list.Element, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for e := g.queue.Front(); e != nil; e = e.Next() {
		key := e.Value.(*delivery).Key
		if !g.busy[key] {
			g.busy[key] = true
			return e, nil
		}
	}
	return nil, t.changed
}

// taken removes a message that a handler took. last is true for the last one that had waited for this start.
func (t *topic) taken(g *group, e *list.Element) (last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := e.Value.(*delivery)
	delete(g.busy, g.pop(e).Key)
	d.receipt.settle(nil)
	if d.waited {
		g.waited--
		last = g.waited == 0
	}
	t.signal()
	return last
}

// release gives a message back, to be delivered again to any member.
func (t *topic) release(g *group, e *list.Element) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(g.busy, e.Value.(*delivery).Key)
	t.signal()
}

func (t *topic) lags(report func(group string, messages, bytes int)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, g := range t.groups {
		report(g.name, g.queue.Len(), g.bytes)
	}
}

// member is one subscription.
type member struct {
	topic   *topic
	group   *group
	handler Handler
	meter   meter
}

func (m *member) run(ctx context.Context) {
	for ctx.Err() == nil {
		e, wait := m.topic.next(m.group)
		if e == nil {
			select {
			case <-wait:
			case <-ctx.Done():
			}
			continue
		}
		m.handle(ctx, e)
	}
}

// handle calls the handler once. After an error the message keeps its place
// and its key stays reserved for the pause; other keys go on.
func (m *member) handle(ctx context.Context, e *list.Element) {
	if ctx.Err() != nil {
		m.topic.release(m.group, e)
		return
	}
	d := e.Value.(*delivery)
	err := hand(ctx, m.group.name, m.handler, d.Message)
	if err == nil {
		m.meter.delivered.WithLabelValues(m.topic.name, m.group.name).Inc()
		if m.topic.taken(m.group, e) {
			m.group.forget()
		}
		return
	}
	m.meter.redelivered.WithLabelValues(m.topic.name, m.group.name).Inc()
	if ctx.Err() != nil { // this member is going; another may take it at once
		m.topic.release(m.group, e)
		return
	}
	d.failures++
	logFailure(m.group.name, d.Message, d.failures, err)
	time.AfterFunc(backoff(d.failures), func() { m.topic.release(m.group, e) })
}
