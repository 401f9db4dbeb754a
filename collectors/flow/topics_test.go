package flow

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	goflow2 "github.com/netsampler/goflow2/v2/pb"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/flowrecord"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/kafka"
)

// TestTopics reads topics of a real broker, which also has the bus.
func TestTopics(t *testing.T) {
	broker := kafka.Start(t)
	for i, c := range []struct {
		name string
		run  func(*site)
	}{
		{"what is no record is counted, and holds up nothing", badMessages},
		{"a topic that is not there yet holds up no other, and is read once it is", unknownTopic},
		{"more exporters than are published at a time", manyExporters},
		{"a record that was published and not committed is stored once", onceThroughRestarts},
		{"the collectors of a group share a topic", shared},
		{"a topic that was made again is another one", madeAgain},
		{"what was committed of another topic of the name is not used", committedOfAnother},
		{"what a topic's retention took before it was read is counted", deletedUnread},
		{"brokers that stand still do not hold a stop", brokersStand},
		{"brokers that were away come back", brokersAway},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(newSite(t, broker, i)) })
	}
}

// site is an installation on a broker: its bus, and a flow store that takes each batch once.
type site struct {
	*testing.T
	broker *kafka.Broker
	client *kgo.Client
	config bus.KafkaConfiguration
	bus    bus.Bus
	// interval is how long a collector gathers.
	interval time.Duration

	mu      sync.Mutex
	seen    map[string]bool
	again   int // batches that came again
	records []flowrecord.Record
}

func newSite(t *testing.T, broker *kafka.Broker, n int) *site {
	s := &site{T: t, broker: broker, config: bus.DefaultKafkaConfiguration(), interval: 20 * time.Millisecond, seen: map[string]bool{}}
	s.config.Brokers, s.config.Prefix = []string{broker.Addr}, fmt.Sprintf("site%d.", n)
	k, err := bus.NewKafka(s.config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.Close() })
	s.bus = k
	if err := k.Subscribe(t.Context(), bus.TopicFlows, "flowstore", s.store); err != nil {
		t.Fatal(err)
	}
	// A broker says of a topic that was just made that there is none: until it has heard of it the writer asks again.
	s.client, err = kgo.NewClient(kgo.SeedBrokers(broker.Addr), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.UnknownTopicRetries(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.client.Close)
	return s
}

func (s *site) store(_ context.Context, m bus.Message) error {
	b, err := flowrecord.DecodeBatch(m.Value)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.Block.Rows() == 0 {
		return nil
	}
	if s.seen[b.ID] {
		s.again++
		return nil
	}
	s.seen[b.ID] = true
	for r := range b.Records() {
		s.records = append(s.records, *r)
	}
	return nil
}

func (s *site) stored() []flowrecord.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.records)
}

// topic makes one, of a name that no other site has.
func (s *site) topic(name string, partitions int32) string {
	s.Helper()
	name = s.config.Prefix + name
	if _, err := s.broker.Admin(s).CreateTopic(s.Context(), partitions, 1, nil, name); err != nil {
		s.Fatal(err)
	}
	return name
}

// write writes a message of goflow2 for each of some numbers, over partitions and exporters in turns.
func (s *site) write(topic string, partitions, exporters, from, to int) {
	s.Helper()
	var all []*kgo.Record
	for n := from; n < to; n++ {
		all = append(all, &kgo.Record{Topic: topic, Partition: int32(n % partitions), Value: s.message(n, n%exporters)})
	}
	if err := s.client.ProduceSync(s.Context(), all...).FirstErr(); err != nil {
		s.Fatal(err)
	}
}

// message is number n of an exporter, as goflow2 as a library writes it.
func (s *site) message(n, exporter int) []byte {
	now := uint64(time.Now().UnixNano())
	raw, err := proto.Marshal(&goflow2.FlowMessage{
		Type: goflow2.FlowMessage_IPFIX, SamplerAddress: []byte{10, 0, byte(exporter >> 8), byte(exporter)}, SrcAddr: []byte{192, 0, 2, 1}, DstAddr: []byte{192, 0, 2, 2},
		Bytes: uint64(n + 1), Packets: 1, SamplingRate: 100, TimeReceivedNs: now, TimeFlowStartNs: now, TimeFlowEndNs: now,
	})
	if err != nil {
		s.Fatal(err)
	}
	return raw
}

// collector is one that reads topics of goflow2; the caller stops it.
func (s *site) collector(on bus.Bus, most int, topics ...string) (*Component, *prometheus.Registry) {
	s.Helper()
	cfg := DefaultConfiguration()
	cfg.Listen, cfg.BatchInterval, cfg.BatchRecords = nil, s.interval, most
	cfg.Exporters.AcceptUnlisted, cfg.Exporters.MaxSessions = true, 10_000
	for _, name := range topics {
		cfg.Topics = append(cfg.Topics, TopicConfiguration{Topic: name, Schema: "goflow2"})
	}
	if err := cfg.Validate(); err != nil {
		s.Fatal(err)
	}
	reg := prometheus.NewRegistry()
	c, err := New(cfg, Dependencies{Bus: on, Registerer: reg, Log: slog.New(slog.NewTextHandler(s.Output(), nil)), Kafka: func(brokers []string) (bus.KafkaConfiguration, error) {
		return s.config, nil
	}})
	if err != nil {
		s.Fatal(err)
	}
	if err := c.Start(s.Context()); err != nil {
		s.Fatal(err)
	}
	return c, reg
}

func (s *site) stop(c *Component) {
	s.Helper()
	if err := c.Stop(context.WithoutCancel(s.Context())); err != nil {
		s.Fatal(err)
	}
}

// all waits until as many records are stored, and checks that each number is there once.
func (s *site) all(n int) {
	s.Helper()
	await.True(s, fmt.Sprintf("%d records are stored", n), func() bool { return len(s.stored()) >= n })
	var got, want []uint64
	for _, r := range s.stored() {
		got = append(got, r.Bytes)
	}
	for i := range n {
		want = append(want, uint64(i+1))
	}
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		s.Errorf("the records stored (-want +got):\n%s", d)
	}
}

// committed waits until the group has committed all of a topic.
func (s *site) committed(topic string) {
	s.Helper()
	admin := s.broker.Admin(s)
	await.True(s, "all of "+topic+" is committed", func() bool {
		ends, err := admin.ListEndOffsets(s.Context(), topic)
		if err != nil {
			return false
		}
		at, err := admin.FetchOffsets(s.Context(), s.config.Prefix+"flow@"+topic)
		done := err == nil
		ends.Each(func(end kadm.ListedOffset) {
			o, ok := at.Lookup(topic, end.Partition)
			done = done && (end.Offset == 0 || ok && o.At == end.Offset)
		})
		return done
	})
}

func metric(reg *prometheus.Registry, name string, labels ...string) float64 {
	families, _ := reg.Gather()
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var got []string
			for _, l := range m.GetLabel() {
				got = append(got, l.GetName(), l.GetValue())
			}
			if f.GetName() == metricPrefix+name && slices.Equal(got, labels) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return -1
}
