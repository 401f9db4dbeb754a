package topic

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Range is messages of a partition, by their offsets.
type Range struct {
	Topic     string
	TopicID   kadm.TopicID
	Partition int32
	// From is the first offset, To the one after the last.
	From, To int64
	Messages []*kgo.Record
}

// ID is the same when the messages come again, and that of no other range: a topic that was deleted and made again has
// another id.
func (r *Range) ID() string {
	return fmt.Sprintf("topic %s %s/%d %d-%d", r.TopicID, r.Topic, r.Partition, r.From, r.To)
}

// partition is what was read of one and not handed on.
type partition struct {
	// known: what its group has committed was read.
	known bool
	// next is where the next range begins; below 0 where nothing was committed. until is where it ends; 0: not decided.
	next, until int64
	// dirty: next is not committed.
	dirty    bool
	messages []*kgo.Record
	// start and end of the partition, as the last fetch says.
	start, end int64
}

// add takes what was fetched, and returns how many messages before it the brokers have deleted.
func (p *partition) add(f kgo.FetchTopicPartition) (lost int64) {
	p.start, p.end = f.LogStartOffset, f.HighWatermark
	if len(f.Records) == 0 {
		return 0
	}
	from := p.next
	if n := len(p.messages); n > 0 {
		from = p.messages[n-1].Offset + 1
	}
	p.messages = append(p.messages, f.Records...)
	return p.deleted(from, f.Records[0].Offset)
}

// deleted is how many messages from one offset to another the topic's retention has taken. Offsets may also lack in a
// topic that is compacted, or written in transactions.
func (p *partition) deleted(from, to int64) int64 {
	if from < 0 {
		return 0
	}
	return max(0, min(p.start, to)-from)
}

func (p *partition) lag() int64 {
	if next := p.next; next >= 0 {
		return max(0, p.end-next)
	}
	return int64(len(p.messages))
}

// cut is the next range, unless its messages are not all there yet.
func (p *partition) cut(most int) (r Range, ok bool) {
	if len(p.messages) == 0 {
		return Range{}, false
	}
	first, last := p.messages[0].Offset, p.messages[len(p.messages)-1].Offset
	if p.next < 0 || first < p.next || p.until != 0 && first >= p.until {
		p.next, p.until = first, 0 // the beginning; or the brokers have lost what was there
	}
	if p.until == 0 {
		p.until = p.messages[min(most, len(p.messages))-1].Offset + 1
	}
	if last < p.until-1 {
		return Range{}, false
	}
	n := 0
	for n < len(p.messages) && p.messages[n].Offset < p.until {
		n++
	}
	return Range{From: p.next, To: p.until, Messages: p.messages[:n]}, true
}

// done goes on behind a range.
func (p *partition) done(r Range) {
	p.messages = append([]*kgo.Record(nil), p.messages[len(r.Messages):]...)
	p.next, p.until, p.dirty = r.To, 0, true
}

func (s *session) assigned(_ context.Context, _ *kgo.Client, what map[string][]int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range what[s.cfg.Topic] {
		s.partitions[id] = &partition{next: -1}
	}
}

func (s *session) gone(_ context.Context, _ *kgo.Client, what map[string][]int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range what[s.cfg.Topic] {
		delete(s.partitions, id)
	}
}

// place is an offset of which a partition is to be read, and where the range that begins there ends; 0: not decided.
type place struct{ next, until int64 }

// format of the metadata of a commit: the end of a range, 0 where none was begun, and the topic's id.
const format = "until %d of %s"

// ends is where the range ends that begins at what was committed, and whether that was this topic, and not another one
// of its name. Commits of other readers, and of older ones between ranges, do not say of which topic they are.
func (s *session) ends(committed kadm.OffsetResponse) (until int64, ours bool) {
	var of string
	if n, _ := fmt.Sscanf(committed.Metadata, format, &until, &of); n < 2 {
		return 0, true
	}
	return until, of == s.id.String()
}

// begins has partitions read from their beginning of which another topic's offsets are committed. Brokers delete them
// after the topic, and give up where that takes them too long.
func (s *session) begins(ctx context.Context, at map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	ctx, cancel := context.WithTimeout(ctx, brokerTimeout)
	defer cancel()
	committed, err := s.committed(ctx, s.beside)
	for id := range at[s.cfg.Topic] {
		if offset, ok := committed.Lookup(s.cfg.Topic, id); ok {
			if _, ours := s.ends(offset); !ours {
				at[s.cfg.Topic][id] = kgo.NewOffset().AtStart()
			}
		}
	}
	return at, err
}

// committed is what the group has committed of the topic.
func (s *session) committed(ctx context.Context, by *kgo.Client) (kadm.OffsetResponses, error) {
	all, err := kadm.NewClient(by).FetchOffsetsForTopics(ctx, s.cfg.Group, s.cfg.Topic)
	if err = cmp.Or(err, all.Error()); err != nil {
		return nil, fmt.Errorf("read what was committed: %w", err)
	}
	return all, nil
}

// resume reads what was committed of partitions that are new here.
func (s *session) resume(ctx context.Context) error {
	if all := slices.Collect(maps.Values(s.partitions)); !slices.ContainsFunc(all, func(p *partition) bool { return !p.known }) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, brokerTimeout)
	defer cancel()
	committed, err := s.committed(ctx, s.client)
	if err != nil {
		return err
	}
	for id, p := range s.partitions {
		at, ok := committed.Lookup(s.cfg.Topic, id)
		until, ours := s.ends(at)
		if ok && ours && !p.known && at.At >= 0 {
			p.next, p.until = at.At, until
			if len(p.messages) > 0 {
				s.missed(id, p.deleted(p.next, p.messages[0].Offset))
			}
		}
		p.known = true
	}
	return nil
}

// cut are the next ranges, and where they begin and end.
func (s *session) cut() (ranges []Range, noted map[int32]place) {
	var lag int64
	noted = map[int32]place{}
	for id, p := range s.partitions {
		if r, ok := p.cut(s.cfg.Most); ok {
			r.Topic, r.TopicID, r.Partition = s.cfg.Topic, s.id, id
			ranges, noted[id] = append(ranges, r), place{r.From, r.To}
		}
		lag += p.lag()
	}
	s.lag.Store(lag)
	return ranges, noted
}

// finish commits what was handed on.
func (s *session) finish(ctx context.Context) error {
	to := map[int32]place{}
	for id, p := range s.partitions {
		if p.dirty && p.until == 0 {
			to[id] = place{next: p.next}
		}
	}
	if len(to) == 0 {
		return nil
	}
	if err := s.commit(ctx, to); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	for id := range to {
		s.partitions[id].dirty = false
	}
	return nil
}

// commit commits offsets with where their ranges end.
func (s *session) commit(ctx context.Context, to map[int32]place) (failed error) {
	ctx, cancel := context.WithTimeout(ctx, brokerTimeout)
	defer cancel()
	offsets := map[int32]kgo.EpochOffset{}
	for id, at := range to {
		offsets[id] = kgo.EpochOffset{Epoch: -1, Offset: at.next}
	}
	ctx = kgo.PreCommitFnContext(ctx, func(request *kmsg.OffsetCommitRequest) error {
		for _, t := range request.Topics {
			for i := range t.Partitions {
				metadata := fmt.Sprintf(format, to[t.Partitions[i].Partition].until, s.id)
				t.Partitions[i].Metadata = &metadata
			}
		}
		return nil
	})
	s.client.CommitOffsetsSync(ctx, map[string]map[int32]kgo.EpochOffset{s.cfg.Topic: offsets}, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, answer *kmsg.OffsetCommitResponse, err error) {
		failed = err
		if err != nil {
			return
		}
		for _, t := range answer.Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					failed = fmt.Errorf("partition %d: %w", p.Partition, err)
				}
			}
		}
	})
	return failed
}
