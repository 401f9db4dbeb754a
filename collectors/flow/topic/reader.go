// Package topic reads flow records that other collectors, goflow2 and Akvorado, write to a topic of Kafka.
//
// In: messages of the topic, each a record as protobuf by a schema. Out: ranges of messages, each with an identity
// that is the same when they come again; records, by Schema. Next: collectors/flow, which publishes the records.
//
// A range that was published may come again, after a crash, or at another member of the group. It must then be the very
// same, since the flow store knows by its identity what it has. So where it ends is noted before it is handed on: the
// offset where it begins is committed, with its end and the topic's id as metadata of that commit, which the next
// reader of the partition reads.
package topic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/lifecycle"
)

// Configuration of a reader.
type Configuration struct {
	Topic, Group string
	// Client says how brokers are reached.
	Client []kgo.Opt
	// Most is how many messages are handed on at a time, Wait how long they are gathered.
	Most int
	Wait time.Duration
	// Take returns nil once the messages need not come again. After an error it is called with the same ranges.
	Take func(context.Context, []Range) error
	Log  *slog.Logger
}

const (
	// minRetry and maxRetry bound the pause before a topic that failed is tried again.
	minRetry, maxRetry = time.Second, 30 * time.Second
	// lookEvery is how often is looked whether the topic is still there.
	lookEvery = 10 * time.Second
	// brokerTimeout bounds a question to the brokers.
	brokerTimeout = 10 * time.Second
	// sessionTimeout is how long the partitions of a process that was killed stand still before another gets them.
	sessionTimeout = 10 * time.Second
	// leaveTimeout bounds the end of a membership: brokers that stand still would hold the collector's stop for longer
	// than it has, and what the sockets took is published after it.
	leaveTimeout = 3 * time.Second
	// fetchBytes bounds what a broker sends at a time.
	fetchBytes = 8 << 20
)

// Memory is about how much a reader holds, in octets, where messages have 400 each.
func Memory(most int) int64 { return int64(2*most)*400 + 2*fetchBytes }

// Reader reads a topic as a member of a group. Whatever fails there is logged and tried again.
type Reader struct {
	cfg Configuration
	// fault is why it does not read now; nil: it does.
	fault atomic.Pointer[string]
	lag   atomic.Int64
	lost  atomic.Uint64
}

// NewReader is inert until Run.
func NewReader(cfg Configuration) *Reader {
	r := &Reader{cfg: cfg}
	r.fault.Store(new(string))
	return r
}

// Reading reports whether the topic was there when it was last looked, and brokers answered.
func (r *Reader) Reading() bool { return r.fault.Load() == nil }

// Lag is how many messages of its partitions were not handed on yet.
func (r *Reader) Lag() int64 { return r.lag.Load() }

// Lost is how many messages the brokers deleted before they were read.
func (r *Reader) Lost() uint64 { return r.lost.Load() }

// missed counts messages that were deleted before they were read.
func (r *Reader) missed(partition int32, messages int64) {
	if messages > 0 {
		r.lost.Add(uint64(messages))
		r.cfg.Log.Error("flows of a topic are lost: the brokers deleted them before they were read", "topic", r.cfg.Topic, "partition", partition, "messages", messages)
	}
}

// Run reads until ctx ends.
func (r *Reader) Run(ctx context.Context) {
	for pause := minRetry; ctx.Err() == nil; pause = min(2*pause, maxRetry) {
		begun := time.Now()
		err := r.read(ctx)
		if ctx.Err() != nil {
			return
		}
		r.lag.Store(0)
		r.failed(err)
		if time.Since(begun) > maxRetry {
			pause = minRetry
		}
		lifecycle.Pause(ctx, pause)
	}
}

// failed logs a fault once, and once that it is over.
func (r *Reader) failed(err error) {
	before := r.fault.Load()
	if err == nil {
		if before != nil {
			r.fault.Store(nil)
			r.cfg.Log.Info("reading flows of a topic", "topic", r.cfg.Topic)
		}
		return
	}
	text := err.Error()
	r.fault.Store(&text)
	if before == nil || *before != text {
		r.cfg.Log.Warn("flows of a topic are not read; trying again", "topic", r.cfg.Topic, "error", err)
	}
}

// session is a membership in the group, while the topic has one id.
type session struct {
	*Reader
	client *kgo.Client
	// beside is no member of the group: it asks brokers while the member joins.
	beside *kgo.Client
	id     kadm.TopicID

	// again: the last turn failed, so what it had comes before anything more is read.
	again bool
	// took: the last turn handed on messages. failedAt is when something failed last, or the session began.
	took     bool
	failedAt time.Time

	// mu is held while messages are handed on and committed: a rebalance waits for that.
	mu         sync.Mutex
	partitions map[int32]*partition
}

// read returns when the topic is not there, or another one than before.
func (r *Reader) read(ctx context.Context) error {
	s := &session{Reader: r, partitions: map[int32]*partition{}, failedAt: time.Now()}
	var err error
	if s.beside, err = kgo.NewClient(r.cfg.Client...); err != nil {
		return err
	}
	defer s.beside.Close()
	if s.id, err = s.look(ctx); err != nil {
		return err
	}
	s.client, err = kgo.NewClient(append(r.cfg.Client,
		kgo.ConsumerGroup(r.cfg.Group), kgo.ConsumeTopics(r.cfg.Topic), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(), kgo.SessionTimeout(sessionTimeout), kgo.FetchMaxBytes(fetchBytes),
		kgo.AdjustFetchOffsetsFn(s.begins), kgo.OnPartitionsAssigned(s.assigned), kgo.OnPartitionsRevoked(s.gone), kgo.OnPartitionsLost(s.gone))...)
	if err != nil {
		return err
	}
	defer s.leave()
	return s.turns(ctx)
}

// leave gives the partitions back, so that others need not wait for the session to expire.
func (s *session) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	if err := s.client.LeaveGroupContext(ctx); err != nil {
		s.cfg.Log.Warn("group not left, its partitions wait for the session to expire", "topic", s.cfg.Topic, "error", err)
	}
	s.client.CloseAllowingRebalance()
}

// turns returns when the topic is not there any longer. Brokers that are away come back.
func (s *session) turns(ctx context.Context) error {
	var away error
	for looked := time.Now(); ctx.Err() == nil; {
		if time.Since(looked) > lookEvery {
			var id kadm.TopicID
			id, away = s.look(ctx)
			if gone := errors.Is(away, kerr.UnknownTopicOrPartition); gone || away == nil && id != s.id {
				return fmt.Errorf("topic %s is gone, or another one than before", s.cfg.Topic)
			}
			looked = time.Now()
		}
		err := s.turn(ctx)
		s.client.AllowRebalance()
		if ctx.Err() != nil {
			return nil // what failed may have failed for that
		}
		s.tell(cmp.Or(away, err))
		if s.again = err != nil; s.again {
			lifecycle.Pause(ctx, minRetry)
		}
	}
	return nil
}

// tell says what failed. A turn without a fault does not end one: the client says what it is refused only when it tries
// again, some seconds later, and is silent in between. Messages end it, or that nothing failed for longer than that.
func (s *session) tell(err error) {
	switch {
	case err != nil:
		s.failedAt = time.Now()
		s.failed(err)
	case s.took || time.Since(s.failedAt) > lookEvery:
		s.failed(nil)
	}
}

// look asks for the topic's id.
func (s *session) look(ctx context.Context) (kadm.TopicID, error) {
	ctx, cancel := context.WithTimeout(ctx, brokerTimeout)
	defer cancel()
	topics, err := kadm.NewClient(s.beside).ListTopics(ctx, s.cfg.Topic)
	if err != nil {
		return kadm.TopicID{}, fmt.Errorf("ask for topic %s: %w", s.cfg.Topic, err)
	}
	if err := topics[s.cfg.Topic].Err; err != nil {
		return kadm.TopicID{}, fmt.Errorf("topic %s: %w", s.cfg.Topic, err)
	}
	return topics[s.cfg.Topic].ID, nil
}

// turn gathers messages, hands them on and commits that.
func (s *session) turn(ctx context.Context) error {
	s.took = false
	if !s.again {
		if err := s.gather(ctx); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.resume(ctx); err != nil {
		return err
	}
	ranges, noted := s.cut()
	if len(ranges) > 0 {
		if err := s.commit(ctx, noted); err != nil {
			return fmt.Errorf("note what is read: %w", err)
		}
		if err := s.cfg.Take(ctx, ranges); err != nil {
			return err
		}
		s.took = true
	}
	for _, r := range ranges {
		s.partitions[r.Partition].done(r)
	}
	return s.finish(ctx)
}

// gather polls until there are enough messages, or the time is over.
func (s *session) gather(ctx context.Context) (failed error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Wait)
	defer cancel()
	for room := s.cfg.Most; room > 0 && ctx.Err() == nil; {
		fetches := s.client.PollRecords(ctx, room)
		fetches.EachError(func(topic string, partition int32, err error) {
			switch {
			case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled):
			case topic == "": // of no partition, such as of the group
				failed = err
			default:
				failed = fmt.Errorf("read partition %d: %w", partition, err)
			}
		})
		room -= fetches.NumRecords()
		s.mu.Lock()
		fetches.EachPartition(func(f kgo.FetchTopicPartition) {
			if p := s.partitions[f.Partition]; p != nil && f.Err == nil {
				s.missed(f.Partition, p.add(f))
			}
		})
		s.mu.Unlock()
	}
	return failed
}
