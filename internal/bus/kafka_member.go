package bus

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// partitionBacklog is how many messages of one partition wait in memory
	// before its fetching pauses. A poisoned partition so stops itself only.
	partitionBacklog = 2048
	// partitionBytes is the same in bytes. Beyond it a partition holds what one more fetch brings.
	partitionBytes = 8 << 20
	// fetchBytes bounds what a broker sends at a time, compressed. A message of the largest size comes all the same.
	fetchBytes = 8 << 20
	// pollRecords bounds one poll, so that a rebalance need not wait for long.
	pollRecords = 1024
	// commitInterval bounds what a crash delivers again.
	commitInterval = time.Second
	// sessionTimeout is how long the partitions of a process that was killed
	// stand still before another, or its successor, gets them. Kafka's default
	// of 45 s suits members that pause; ours send heartbeats beside their work.
	sessionTimeout = 10 * time.Second
	// fetchWait is how long a broker holds a fetch that has nothing to answer. A
	// partition that joins meanwhile waits for it, so it bounds the delay of the
	// first message after every rebalance.
	fetchWait = 250 * time.Millisecond
	// commitTimeout bounds the last commit when partitions go, leaveTimeout that
	// and the goodbye to the brokers; both matter only when brokers are away.
	commitTimeout = 4 * time.Second
	leaveTimeout  = 6 * time.Second
)

// kafkaMember is one subscription: a group member with its own client, so that
// subscriptions of a process rebalance and fail independently. One goroutine
// polls, one per partition calls the handler.
type kafkaMember struct {
	topic, group string // without prefix
	wireTopic    string
	handler      Handler
	meter        meter
	tell         func(topic, group string, messages int64) // of lost messages; may be nil
	ensure       func(context.Context) error               // makes the topic where there is none
	giveUp       time.Duration                             // on messages of a topic that is gone
	options      []kgo.Opt
	// client is the polling goroutine's, once connect has returned. The group calls back earlier, and is given
	// the client then.
	client *kgo.Client
	ctx    context.Context // of the subscription

	// serial is held while the handler runs: calls never overlap, while
	// partitions still wait for their retries side by side.
	serial sync.Mutex

	mu         sync.Mutex
	partitions map[int32]*partition
}

func newKafkaMember(ctx context.Context, cfg KafkaConfiguration, topic, group string, handler Handler, meter meter) *kafkaMember {
	m := &kafkaMember{
		ctx: ctx, topic: topic, group: group, wireTopic: cfg.Prefix + topic,
		handler: handler, meter: meter, tell: cfg.Lost, giveUp: cmp.Or(cfg.GiveUp, defaultGiveUp), partitions: map[int32]*partition{},
	}
	m.options = append(cfg.options(),
		// One Kafka group per pair of group and topic: a member that joins for
		// one topic must not rebalance the others.
		kgo.ConsumerGroup(cfg.Prefix+group+"@"+topic),
		kgo.ConsumeTopics(m.wireTopic),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), // rather twice than never
		kgo.SessionTimeout(sessionTimeout),
		kgo.FetchMaxWait(fetchWait),
		kgo.FetchMaxBytes(fetchBytes),
		kgo.AutoCommitMarks(),
		kgo.AutoCommitInterval(commitInterval),
		kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(m.assigned),
		kgo.OnPartitionsRevoked(m.revoked),
		kgo.OnPartitionsLost(m.taken),
	)
	if Compacted[topic] {
		m.options = append(m.options, kgo.AdjustFetchOffsetsFn(fromStart))
	}
	return m
}

// connect makes the client, which joins the group.
func (m *kafkaMember) connect() (err error) {
	m.client, err = kgo.NewClient(m.options...)
	return err
}

// fromStart ignores committed offsets: what a subscriber learnt from a
// compacted topic it keeps in memory, so a member that gets a partition needs all of it.
func fromStart(_ context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	for _, partitions := range offsets {
		for p := range partitions {
			partitions[p] = kgo.NewOffset().AtStart()
		}
	}
	return offsets, nil
}

func (m *kafkaMember) run() {
	for m.ctx.Err() == nil {
		fetches := m.client.PollRecords(m.ctx, pollRecords)
		fetches.EachError(func(topic string, partition int32, err error) {
			if !errors.Is(err, context.Canceled) {
				slog.WarnContext(m.ctx, "reading from Kafka", "topic", topic, "partition", partition, "group", m.group, "error", err)
			}
		})
		fetches.EachPartition(m.fetched)
		id, suspected := m.suspect(fetches)
		lost := suspected && m.gone(id)
		if lost {
			m.drain() // before partitions can go to others, who cannot read what is here
		}
		m.client.AllowRebalance()
		if lost {
			m.begin()
		}
	}
	m.leave()
}

// leave stops handlers, commits (in revoked) and gives the partitions back.
func (m *kafkaMember) leave() {
	m.drop(m.client, m.owned())
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	if err := m.client.LeaveGroupContext(ctx); err != nil {
		slog.Warn("group not left, its partitions wait for the session to expire",
			"topic", m.topic, "group", m.group, "error", err)
	}
	m.drop(m.client, m.owned()) // assigned while leaving
	m.client.Close()
}

func (m *kafkaMember) fetched(f kgo.FetchTopicPartition) {
	m.mu.Lock()
	p := m.partitions[f.Partition]
	m.mu.Unlock()
	if p == nil || len(f.Records) == 0 {
		return
	}
	if lost := p.add(f.Records); lost > 0 && !Compacted[m.topic] {
		m.lost(f.Partition, lost)
	}
}

// lost reports the messages between the last that was fetched or committed and the first that the broker still has.
func (m *kafkaMember) lost(partition int32, messages int64) {
	m.meter.lost.WithLabelValues(m.topic, m.group).Add(float64(messages))
	slog.Error("messages lost: the brokers deleted them before they were taken", "topic", m.topic, "group", m.group, "partition", partition, "messages", messages)
	if m.tell != nil {
		m.tell(m.topic, m.group, messages)
	}
}

// committed is the partition's offset of the group, or below 0 where it has none.
func (m *kafkaMember) committed(client *kgo.Client, partition int32) int64 {
	if at, ok := client.CommittedOffsets()[m.wireTopic][partition]; ok {
		return at.Offset
	}
	return -1
}

func (m *kafkaMember) assigned(_ context.Context, client *kgo.Client, what map[string][]int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range what[m.wireTopic] {
		p := newPartition(id, m, client)
		m.partitions[id] = p
		go p.run() // until drop
	}
}

// revoked finishes with partitions before another member starts with them:
// that keeps order per key through a rebalance.
func (m *kafkaMember) revoked(_ context.Context, client *kgo.Client, what map[string][]int32) {
	m.drop(client, what[m.wireTopic])
	m.commit(client)
}

// taken is revoked by force: another member has the partitions already, so there
// is nothing to commit.
func (m *kafkaMember) taken(_ context.Context, client *kgo.Client, what map[string][]int32) {
	m.drop(client, what[m.wireTopic])
}

// drop stops partitions and waits for their running handlers.
func (m *kafkaMember) drop(client *kgo.Client, ids []int32) {
	var gone []*partition
	m.mu.Lock()
	for _, id := range ids {
		if p := m.partitions[id]; p != nil {
			gone = append(gone, p)
			delete(m.partitions, id)
		}
	}
	m.mu.Unlock()
	for _, p := range gone {
		p.cancel()
	}
	for _, p := range gone {
		<-p.done
	}
	if len(ids) > 0 { // a later assignment must not find its partition still paused
		client.ResumeFetchPartitions(map[string][]int32{m.wireTopic: ids})
	}
}

func (m *kafkaMember) owned() []int32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	ids := make([]int32, 0, len(m.partitions))
	for id := range m.partitions {
		ids = append(ids, id)
	}
	return ids
}

func (m *kafkaMember) commit(client *kgo.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	defer cancel()
	if err := client.CommitMarkedOffsets(ctx); err != nil {
		slog.Warn("offsets not committed, messages will be delivered again",
			"topic", m.topic, "group", m.group, "error", err)
	}
}

// lag sums over the partitions this member owns: messages that the brokers have, and bytes of those that are here.
func (m *kafkaMember) lag(ends map[int32]kadm.ListedOffset) (messages int64, bytes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, p := range m.partitions {
		next, held := p.position()
		if next >= 0 {
			messages += max(ends[id].Offset-next, 0)
		}
		bytes += held
	}
	return messages, bytes
}
