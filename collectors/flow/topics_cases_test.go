package flow

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	goflow2 "github.com/netsampler/goflow2/v2/pb"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/flowrecord"
	"github.com/millrace/millrace/internal/testkit/await"
)

func badMessages(s *site) {
	topic := s.topic("flows", 1)
	now := uint64(time.Now().UnixNano())
	src := []byte{192, 0, 2, 1}
	bad := map[string]*goflow2.FlowMessage{
		"no_exporter":       {SrcAddr: src, DstAddr: src, Bytes: 1, TimeReceivedNs: now},
		"no_time":           {SrcAddr: src, DstAddr: src, Bytes: 1, SamplerAddress: src},
		"not_a_flow":        {SrcAddr: src, DstAddr: src, Bytes: 1, SamplerAddress: src, TimeReceivedNs: now, Etype: 0x0806},
		"time_out_of_range": {SrcAddr: src, DstAddr: src, Bytes: 1, SamplerAddress: src, TimeReceivedNs: 1},
		"end_before_start":  {SrcAddr: src, DstAddr: src, Bytes: 1, SamplerAddress: src, TimeFlowStartNs: now, TimeFlowEndNs: now - 1e9},
	}
	values := map[string][][]byte{"malformed": {nil, []byte("no protobuf"), {0xff}}}
	for reason, m := range bad {
		raw, err := proto.Marshal(m)
		if err != nil {
			s.Fatal(err)
		}
		values[reason] = append(values[reason], raw)
	}
	impossible := &goflow2.FlowMessage{SrcAddr: src, DstAddr: src, Bytes: 1, SamplerAddress: src, TimeReceivedNs: 1 << 63, SrcPort: 70000}
	raw, err := proto.Marshal(impossible)
	if err != nil {
		s.Fatal(err)
	}
	values["malformed"] = append(values["malformed"], raw)
	for _, list := range values {
		for _, v := range list {
			if err := s.client.ProduceSync(s.Context(), &kgo.Record{Topic: topic, Value: v}).FirstErr(); err != nil {
				s.Fatal(err)
			}
		}
	}
	s.write(topic, 1, 1, 0, 1)
	c, reg := s.collector(s.bus, 100, topic)
	defer s.stop(c)
	s.all(1)
	s.committed(topic)
	values["no_exporter"], values["malformed"] = append(values["no_exporter"], nil), values["malformed"][1:] // an empty message has no field
	for reason, list := range values {
		if n := metric(reg, "topic_drops_total", "reason", reason, "topic", topic); n != float64(len(list)) {
			s.Errorf("%v messages dropped as %s, want %d", n, reason, len(list))
		}
	}
	if n, err := testutil.GatherAndCount(reg, metricPrefix+"topic_messages_total"); n != 1 || err != nil {
		s.Errorf("%d counters of messages, %v; want that of the topic", n, err)
	}
}

func unknownTopic(s *site) {
	there, missing := s.topic("there", 2), s.config.Prefix+"missing"
	s.write(there, 2, 3, 0, 100)
	c, reg := s.collector(s.bus, 100, missing, there)
	defer s.stop(c)
	s.all(100)
	if n := metric(reg, "topic_reading", "topic", missing); n != 0 {
		s.Errorf("the topic that is not there is read: %v", n)
	}
	s.topic("missing", 1)
	s.write(missing, 1, 1, 100, 200)
	s.all(200)
	await.True(s, "it is read", func() bool { return metric(reg, "topic_reading", "topic", missing) == 1 })
}

func manyExporters(s *site) {
	const partitions, exporters, n = 6, 3000, 18_000
	topic := s.topic("flows", partitions)
	s.write(topic, partitions, exporters, 0, n)
	c, reg := s.collector(s.bus, 32768, topic)
	defer s.stop(c)
	s.all(n)
	s.committed(topic)
	await.True(s, "nothing is left", func() bool { return metric(reg, "topic_lag_messages", "topic", topic) == 0 })
}

// fragile takes so many messages and then none, until ctx ends.
type fragile struct {
	bus.Bus
	left atomic.Int64
	out  chan struct{} // has a place: it takes none any longer
}

var errFragile = errors.New("taken no longer")

func (f *fragile) PublishKept(ctx context.Context, r *bus.Receipt, topic, key string, m proto.Message) error {
	if f.left.Add(-1) < 0 {
		select {
		case f.out <- struct{}{}:
		default:
		}
		<-ctx.Done()
		return errFragile
	}
	return f.Bus.PublishKept(ctx, r, topic, key, m)
}

func onceThroughRestarts(s *site) {
	const partitions, exporters, n, crashes = 3, 20, 6000, 5
	topic := s.topic("flows", partitions)
	s.write(topic, partitions, exporters, 0, n)
	for i := range crashes {
		f := &fragile{Bus: s.bus, out: make(chan struct{}, 1)}
		f.left.Store(int64(35 + 7*i)) // within some turn
		c, reg := s.collector(f, 100+10*i, topic)
		await.Value(s, "the bus takes no more", f.out)
		ctx, cancel := context.WithCancel(s.Context())
		cancel() // it may not finish anything
		_ = c.Stop(ctx)
		if n := metric(reg, "unpublished_records_total"); n != 0 {
			s.Errorf("%v records count as lost, which come again", n)
		}
	}
	c, _ := s.collector(s.bus, 500, topic)
	defer s.stop(c)
	s.all(n)
	s.committed(topic)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.again == 0 {
		s.Error("no batch came again: nothing was tested")
	}
}

func shared(s *site) {
	const partitions, n = 4, 4000
	topic := s.topic("flows", partitions)
	s.write(topic, partitions, 10, 0, n/2)
	one, first := s.collector(s.bus, 50, topic)
	two, second := s.collector(s.bus, 50, topic)
	defer s.stop(two)
	got := func(reg *prometheus.Registry) float64 { return metric(reg, "topic_messages_total", "topic", topic) }
	for at := n / 2; got(first) <= 0 || got(second) <= 0; at += 100 { // until both have a share
		s.write(topic, partitions, 10, at, at+100)
		s.all(at + 100)
	}
	s.stop(one)
	before := len(s.stored())
	s.write(topic, partitions, 10, before, before+1000)
	s.all(before + 1000)
}

func madeAgain(s *site) {
	topic := s.topic("flows", 1)
	s.write(topic, 1, 1, 0, 100)
	c, _ := s.collector(s.bus, 1000, topic)
	defer s.stop(c)
	s.all(100)
	s.committed(topic)
	if _, err := s.broker.Admin(s).DeleteTopic(s.Context(), topic); err != nil {
		s.Fatal(err)
	}
	await.True(s, "the topic can be made again", func() bool {
		_, err := s.broker.Admin(s).CreateTopic(s.Context(), 1, 1, nil, topic)
		return err == nil
	})
	s.client.PurgeTopicsFromProducing(topic)
	s.write(topic, 1, 1, 100, 200) // at the offsets that the first hundred had
	s.all(200)
}

// committedOfAnother is a topic that was made again whose group has the offsets of the one before: brokers delete them
// after the topic, and give up where that takes them too long.
func committedOfAnother(s *site) {
	const partitions, n = 2, 100
	topic := s.topic("flows", partitions)
	s.write(topic, partitions, 1, 0, n)
	var before kadm.Offsets
	before.Add(kadm.Offset{Topic: topic, Partition: 0, At: n / partitions, LeaderEpoch: -1, Metadata: "until 0 of AAAAAAAAAAAAAAAAAAAAAQ"})
	before.Add(kadm.Offset{Topic: topic, Partition: 1, At: 10, LeaderEpoch: -1, Metadata: "until 30 of AAAAAAAAAAAAAAAAAAAAAQ"})
	if err := s.broker.Admin(s).CommitAllOffsets(s.Context(), s.config.Prefix+"flow@"+topic, before); err != nil {
		s.Fatal(err)
	}
	c, _ := s.collector(s.bus, 1000, topic)
	s.all(n)
	s.committed(topic)
	s.stop(c)
	// The collector's own offsets are used: what was read is not read again.
	c, _ = s.collector(s.bus, 1000, topic)
	defer s.stop(c)
	s.write(topic, partitions, 1, n, 2*n)
	s.all(2 * n)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.again > 0 {
		s.Errorf("%d batches came again", s.again)
	}
}

// brokersStand has a record of a socket wait for the next regular flush, which is that of the stop.
func brokersStand(s *site) {
	s.interval = time.Hour
	memory := bus.NewMemory()
	s.Cleanup(func() { _ = memory.Close() })
	if err := memory.Subscribe(s.Context(), bus.TopicFlows, "flowstore", s.store); err != nil {
		s.Fatal(err)
	}
	topic := s.topic("flows", 1)
	s.write(topic, 1, 1, 0, 100)
	c, _ := s.collector(memory, 100, topic)
	s.all(100)
	s.committed(topic)
	waits := s.stored()[0]
	c.batcher.add(0, []flowrecord.Record{waits})
	s.broker.Stand(s)
	defer s.broker.Move(s)
	ctx, cancel := context.WithTimeout(s.Context(), 20*time.Second) // brokers that answer no more would take 40 s
	defer cancel()
	if err := c.Stop(ctx); err != nil {
		s.Fatal(err)
	}
	if n := c.Published(); n != 101 {
		s.Errorf("%d records published, want all 101", n)
	}
}

func deletedUnread(s *site) {
	topic := s.topic("flows", 1)
	s.write(topic, 1, 1, 0, 100)
	c, _ := s.collector(s.bus, 100, topic)
	s.all(100)
	s.committed(topic)
	s.stop(c)
	s.write(topic, 1, 1, 100, 300)
	before := kadm.Offsets{}
	before.AddOffset(topic, 0, 180, -1)
	if _, err := s.broker.Admin(s).DeleteRecords(s.Context(), before); err != nil {
		s.Fatal(err)
	}
	c, reg := s.collector(s.bus, 100, topic)
	defer s.stop(c)
	await.True(s, "it is read to the end", func() bool { return len(s.stored()) == 220 })
	if n := metric(reg, "topic_lost_messages_total", "topic", topic); n != 80 {
		s.Errorf("%v messages are lost, want 80", n)
	}
}

// brokersAway comes last.
func brokersAway(s *site) {
	topic := s.topic("flows", 2)
	s.write(topic, 2, 5, 0, 500)
	c, reg := s.collector(s.bus, 100, topic)
	defer s.stop(c)
	s.all(500)
	s.broker.Stop()
	await.True(s, "it is not read", func() bool { return metric(reg, "topic_reading", "topic", topic) == 0 })
	s.broker.Again(s)
	s.write(topic, 2, 5, 500, 1000)
	s.all(1000)
	await.True(s, "it is read", func() bool { return metric(reg, "topic_reading", "topic", topic) == 1 })
}
