package kafka

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/testkit/await"
)

// Repeat appends the messages of topics once more, twice each and the newest first: consumers see the same
// of a producer without idempotence whose requests are sent again and overtake each other. At most last
// messages of each topic.
func (b *Broker) Repeat(t testing.TB, last int) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Addr), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.ProducerBatchMaxBytes(8<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
	defer cancel()
	all := map[string][]*kgo.Record{}
	records, err := read(ctx, client)
	if err != nil {
		t.Fatalf("read what is repeated: %v", err)
	}
	for _, r := range records {
		all[r.Topic] = append(all[r.Topic], r)
	}
	for _, records := range all {
		records = records[max(0, len(records)-last):]
		for _, r := range slices.Backward(records) {
			for range 2 {
				again := &kgo.Record{Topic: r.Topic, Key: r.Key, Value: r.Value, Headers: r.Headers}
				if err := client.ProduceSync(ctx, again).FirstErr(); err != nil {
					t.Fatalf("repeat a message on %s: %v", r.Topic, err)
				}
			}
		}
	}
}

// place is a partition of a topic.
type place struct {
	topic     string
	partition int32
}

// read returns what topics have by now, in the order of time.
func read(ctx context.Context, client *kgo.Client) (out []*kgo.Record, err error) {
	admin := kadm.NewClient(client)
	topics, err := admin.ListTopics(ctx)
	if err != nil {
		return nil, err
	}
	client.AddConsumeTopics(topics.Names()...)
	ends, err := ends(ctx, admin, topics.Names())
	for err == nil && len(ends) > 0 {
		fetches := client.PollFetches(ctx)
		err = fetches.Err()
		fetches.EachRecord(func(r *kgo.Record) {
			at := place{r.Topic, r.Partition}
			if r.Offset < ends[at] {
				out = append(out, r)
			}
			if r.Offset >= ends[at]-1 {
				delete(ends, at)
			}
		})
	}
	slices.SortStableFunc(out, func(x, y *kgo.Record) int { return x.Timestamp.Compare(y.Timestamp) })
	return out, err
}

// ends are the offsets behind the last messages, of partitions that have any.
func ends(ctx context.Context, admin *kadm.Client, topics []string) (map[place]int64, error) {
	begin, err := admin.ListStartOffsets(ctx, topics...)
	if err != nil {
		return nil, err
	}
	end, err := admin.ListEndOffsets(ctx, topics...)
	if err != nil {
		return nil, err
	}
	out := map[place]int64{}
	end.Each(func(o kadm.ListedOffset) {
		if first, known := begin.Lookup(o.Topic, o.Partition); known && o.Offset > first.Offset {
			out[place{o.Topic, o.Partition}] = o.Offset
		}
	})
	return out, errors.Join(begin.Error(), end.Error())
}
