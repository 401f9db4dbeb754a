package topic

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// What the retention of a topic takes before it is read is counted, and no other gap.
func TestDeletedMessagesAreCounted(t *testing.T) {
	fetch := func(start int64, offsets ...int64) (f kgo.FetchTopicPartition) {
		f.LogStartOffset = start
		for _, o := range offsets {
			f.Records = append(f.Records, &kgo.Record{Offset: o})
		}
		return f
	}
	for _, c := range []struct {
		name string
		next int64
		come []kgo.FetchTopicPartition
		want int64
	}{
		{"a group that has committed nothing", -1, []kgo.FetchTopicPartition{fetch(500, 500, 501)}, 0},
		{"all there", 100, []kgo.FetchTopicPartition{fetch(50, 100, 101), fetch(101, 102)}, 0},
		{"deleted while the collector was away", 100, []kgo.FetchTopicPartition{fetch(500, 500)}, 400},
		{"nothing came after them", 100, []kgo.FetchTopicPartition{fetch(500)}, 0},
		{"deleted while it reads", 100, []kgo.FetchTopicPartition{fetch(50, 100, 101), fetch(500, 500)}, 398},
		{"compacted", 100, []kgo.FetchTopicPartition{fetch(50, 120, 130)}, 0},
		{"deleted and compacted", 100, []kgo.FetchTopicPartition{fetch(110, 120)}, 10},
	} {
		p := &partition{next: c.next}
		var lost int64
		for _, f := range c.come {
			lost += p.add(f)
		}
		if lost != c.want {
			t.Errorf("%s: %d messages are lost, want %d", c.name, lost, c.want)
		}
	}
}
