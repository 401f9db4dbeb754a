package bus

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/lifecycle"
)

// A topic is gone where it was deleted, or where brokers restarted without their disks. The Kafka client goes on
// with the topic that it knew, by its id, for ever: publishers and groups of a process that lives on would be silent
// until it is restarted. So the topic is made again, and both begin with the new one. A fetch or a produce that fails
// is no proof: leaders move, brokers start, and a topic that was just made is not known everywhere. What the cluster's
// metadata says is.

// look finds out whether a topic is gone for a publisher that had less time than the client takes to find out: each of
// its attempts would be too short.
func (k *Kafka) look(topic string, times int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	known, ready := k.ready[topic]
	if !ready || k.looking[topic] || k.ctx.Err() != nil {
		return
	}
	k.looking[topic] = true
	k.wg.Go(func() {
		ctx, cancel := context.WithTimeout(k.ctx, adminTimeout)
		defer cancel()
		id, err := k.idOf(ctx, topic)
		if err == nil && (id != known || id == kadm.TopicID{}) { // making again what is there does no harm
			err = k.makeAgain(ctx, topic, times)
		}
		if err != nil && k.ctx.Err() == nil {
			slog.WarnContext(ctx, "whether a Kafka topic is gone is not known", "topic", topic, "error", err)
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.looking, topic)
	})
}

func (k *Kafka) timesMade(topic string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.made[topic]
}

// madeSince is whether the topic was created again since the caller began with it.
func (k *Kafka) madeSince(topic string, times int) bool {
	k.making.Lock()
	defer k.making.Unlock()
	return k.timesMade(topic) != times
}

// makeAgain makes a topic that is gone, unless another publisher has, and lets go of what the client knows of it.
func (k *Kafka) makeAgain(ctx context.Context, topic string, times int) error {
	k.making.Lock()
	defer k.making.Unlock()
	if k.timesMade(topic) != times {
		return nil
	}
	k.mu.Lock()
	known := k.ready[topic]
	delete(k.ready, topic)
	k.mu.Unlock()
	if err := k.ensureTopic(ctx, topic); err != nil {
		return err
	}
	// A broker that does not know a topic yet answers as one where it is gone. A client that lets go of a topic counts
	// its messages from 0 again, and brokers that have the topic take those for messages that came before: they answer
	// that they have them, and drop them (KIP-98).
	if k.idKnown(topic) == known {
		lifecycle.Pause(ctx, topicPause)
		return nil
	}
	slog.WarnContext(ctx, "a Kafka topic was gone; publishing to the one there is now", "topic", topic)
	k.client.PurgeTopicsFromProducing(k.cfg.Prefix + topic)
	k.mu.Lock()
	k.made[topic]++ // its readers publish to the new topic
	k.mu.Unlock()
	return nil
}

func (k *Kafka) idKnown(topic string) kadm.TopicID {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.ready[topic]
}

// suspect is the id of the topic whose fetches fail as those of a topic that is gone.
func (m *kafkaMember) suspect(fetches kgo.Fetches) (id kadm.TopicID, suspected bool) {
	fetches.EachTopic(func(t kgo.FetchTopic) {
		for _, p := range t.Partitions {
			if errors.Is(p.Err, kerr.UnknownTopicID) {
				id, suspected = t.TopicID, true
			}
		}
	})
	return id, suspected
}

// gone reports whether the cluster's metadata no longer has the topic under this id.
func (m *kafkaMember) gone(id kadm.TopicID) bool {
	ctx, cancel := context.WithTimeout(m.ctx, adminTimeout)
	defer cancel()
	details, err := kadm.NewClient(m.client).ListTopics(ctx, m.wireTopic)
	if err != nil {
		return false
	}
	d := details[m.wireTopic]
	if d.Err != nil {
		return errors.Is(d.Err, kerr.UnknownTopicOrPartition)
	}
	return d.ID != id
}

// defaultGiveUp is the default of KafkaConfiguration.GiveUp: a store that is away comes back in less, mostly.
const defaultGiveUp = 10 * time.Minute

// drain waits until the handler has taken what is in memory: no broker has it any more. What it refuses all that time
// must not hold up the topic there is now: once nothing was handled for GiveUp, the rest is lost, and logged.
func (m *kafkaMember) drain() {
	last, since := m.held(), time.Now()
	for m.ctx.Err() == nil && last > 0 {
		if time.Since(since) > m.giveUp {
			m.abandon()
			return
		}
		select {
		case <-m.ctx.Done():
		case <-time.After(topicPause):
		}
		if held := m.held(); held < last {
			last, since = held, time.Now()
		}
	}
}

// abandon reports messages in memory as lost; the caller then leaves the topic, which frees them.
func (m *kafkaMember) abandon() {
	rest := map[int32]int{}
	m.mu.Lock()
	for id, p := range m.partitions {
		rest[id] = p.waiting()
	}
	m.mu.Unlock()
	for id, messages := range rest {
		if messages > 0 {
			m.lost(id, int64(messages))
		}
	}
}

// held is how many fetched messages were not taken yet.
func (m *kafkaMember) held() (messages int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.partitions {
		messages += p.waiting()
	}
	return messages
}

// begin leaves the topic that is gone, and joins the group for the one there is, or is made, now.
func (m *kafkaMember) begin() {
	slog.Error("a Kafka topic is gone, and with it what was not fetched yet; beginning with the one there is now", "topic", m.topic, "group", m.group)
	m.leave()
	m.options = append(m.options, kgo.AdjustFetchOffsetsFn(m.firstFromStart()))
	for m.ctx.Err() == nil {
		err := m.ensure(m.ctx)
		if err == nil {
			err = m.connect()
		}
		if err == nil {
			return
		}
		slog.WarnContext(m.ctx, "topic not joined again, will try again", "topic", m.topic, "group", m.group, "error", err)
		select {
		case <-m.ctx.Done():
		case <-time.After(maxRetry):
		}
	}
}

// settled is how long after a topic was made again all members of a group have joined and committed in it.
const settled = 10 * time.Minute

// firstFromStart ignores the committed offset of each partition once: it is of the topic that is gone, and brokers keep
// it by the topic's name. A partition that another member hands over later has an offset of the new topic.
func (m *kafkaMember) firstFromStart() func(context.Context, map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	begun, until := map[int32]bool{}, time.Now().Add(settled)
	return func(ctx context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
		if Compacted[m.topic] {
			return fromStart(ctx, offsets)
		}
		for p := range offsets[m.wireTopic] {
			if !begun[p] && time.Now().Before(until) {
				offsets[m.wireTopic][p] = kgo.NewOffset().AtStart()
			}
			begun[p] = true
		}
		return offsets, nil
	}
}
