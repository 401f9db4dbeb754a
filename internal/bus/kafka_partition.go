package bus

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// partition hands one assigned partition's records to the handler in order.
type partition struct {
	id     int32
	member *kafkaMember
	client *kgo.Client
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}
	more   chan struct{} // has room for one: something was added

	mu      sync.Mutex
	backlog []*kgo.Record
	bytes   int   // of the backlog
	next    int64 // offset after the last record taken; -1 before any was fetched
	due     int64 // offset after the last record fetched; below 0 where none was and the group has none
	paused  bool  // fetching stopped because the backlog is long
}

func newPartition(id int32, m *kafkaMember, client *kgo.Client) *partition {
	ctx, cancel := context.WithCancel(m.ctx)
	return &partition{
		id: id, member: m, client: client, ctx: ctx, cancel: cancel, next: -1, due: -1,
		done: make(chan struct{}), more: make(chan struct{}, 1),
	}
}

// add appends fetched records; a long backlog pauses fetching. lost is how many
// are missing before them.
func (p *partition) add(records []*kgo.Record) (lost int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	first, last := records[0].Offset, records[len(records)-1].Offset
	if p.next < 0 {
		p.next, p.due = first, p.member.committed(p.client, p.id)
	}
	if p.due > 0 {
		lost = max(first-p.due, 0)
	}
	p.due = last + 1
	p.backlog = append(p.backlog, records...)
	for _, r := range records {
		p.bytes += recordSize(r)
	}
	if !p.paused && (len(p.backlog) > partitionBacklog || p.bytes > partitionBytes) {
		p.paused = true
		p.client.PauseFetchPartitions(p.name())
	}
	select {
	case p.more <- struct{}{}:
	default:
	}
	return lost
}

func (p *partition) name() map[string][]int32 {
	return map[string][]int32{p.member.wireTopic: {p.id}}
}

// head is the oldest record not taken yet.
func (p *partition) head() *kgo.Record {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.backlog) == 0 {
		return nil
	}
	return p.backlog[0]
}

// taken drops the head; an empty backlog resumes fetching.
func (p *partition) taken() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = p.backlog[0].Offset + 1
	p.bytes -= recordSize(p.backlog[0])
	p.backlog[0] = nil // so that its memory goes before the slice does
	p.backlog = p.backlog[1:]
	if p.paused && len(p.backlog) == 0 {
		p.paused = false
		p.client.ResumeFetchPartitions(p.name())
	}
}

// waiting is how many records the handler has not taken.
func (p *partition) waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.backlog)
}

func recordSize(r *kgo.Record) int { return Message{Key: string(r.Key), Value: r.Value}.size() }

// position is the offset after the last record taken, and how much waits in memory behind it.
func (p *partition) position() (next int64, bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.next, p.bytes
}

func (p *partition) run() {
	defer close(p.done)
	for p.ctx.Err() == nil {
		r := p.head()
		if r == nil {
			select {
			case <-p.more:
			case <-p.ctx.Done():
			}
			continue
		}
		if !p.deliver(r) {
			return
		}
		// The offset is marked only now: a crash before this line delivers the
		// record again.
		p.client.MarkCommitRecords(r)
		p.taken()
	}
}

// deliver calls the handler until it takes the record; false when the
// partition was taken away first.
func (p *partition) deliver(r *kgo.Record) bool {
	m := p.member
	message := Message{Topic: m.topic, Key: string(r.Key), Value: r.Value, Trace: traceOf(r)}
	for failures := 1; ; failures++ {
		err := m.call(p.ctx, message)
		if err == nil {
			m.meter.delivered.WithLabelValues(m.topic, m.group).Inc()
			return true
		}
		m.meter.redelivered.WithLabelValues(m.topic, m.group).Inc()
		if p.ctx.Err() != nil {
			return false
		}
		logFailure(m.group, message, failures, err)
		select {
		case <-p.ctx.Done():
			return false
		case <-time.After(backoff(failures)):
		}
	}
}

// call runs the handler once, alone.
func (m *kafkaMember) call(ctx context.Context, message Message) error {
	m.serial.Lock()
	defer m.serial.Unlock()
	if err := ctx.Err(); err != nil { // taken away while waiting for its turn
		return err
	}
	return hand(ctx, m.group, m.handler, message)
}
