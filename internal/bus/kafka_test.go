package bus_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/kafka"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
)

func open(t *testing.T, cfg bus.KafkaConfiguration) *bus.Kafka {
	t.Helper()
	b, err := bus.NewKafka(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func goesOn(t *testing.T, cfg bus.KafkaConfiguration) {
	first, r := open(t, cfg), newRecorder()
	subscribe(t, first, bus.TopicEvents, "g", r.take)
	publish(t, first, bus.TopicEvents, "key", "before")
	r.until(t, func(got []taken) bool { return len(got) == 1 })
	first.Close()

	second, r := open(t, cfg), newRecorder()
	defer second.Close()
	publish(t, second, bus.TopicEvents, "key", "while away")
	subscribe(t, second, bus.TopicEvents, "g", r.take)
	publish(t, second, bus.TopicEvents, "key", "after")
	r.until(t, func(got []taken) bool { return len(got) >= 2 })
	if d := cmp.Diff(r.all(), []taken{{"key", "while away"}, {"key", "after"}}, cmp.AllowUnexported(taken{})); d != "" {
		t.Errorf("after the restart (-got +want):\n%s", d)
	}
}

// crash: the process dies inside the handler, as far as the broker can see.
func crash(t *testing.T, cfg bus.KafkaConfiguration) {
	first := open(t, cfg)
	started := make(chan bus.Message, 1)
	subscribe(t, first, bus.TopicEvents, "g", func(ctx context.Context, m bus.Message) error {
		started <- m
		<-ctx.Done()
		return ctx.Err()
	})
	publish(t, first, bus.TopicEvents, "key", "in hand")
	receive(t, started)
	first.Close()

	second, r := open(t, cfg), newRecorder()
	defer second.Close()
	subscribe(t, second, bus.TopicEvents, "g", r.take)
	r.until(t, func(got []taken) bool { return len(got) == 1 && got[0].text == "in hand" })
}

func startsAtOldest(t *testing.T, cfg bus.KafkaConfiguration) {
	b, r := open(t, cfg), newRecorder()
	defer b.Close()
	publish(t, b, bus.TopicEvents, "key", "old")
	subscribe(t, b, bus.TopicEvents, "new", r.take)
	r.until(t, func(got []taken) bool { return len(got) == 1 })
}

// poisoned puts more behind a poisoned message than a partition may hold in memory.
func poisoned(t *testing.T, cfg bus.KafkaConfiguration) {
	const behind = 5000
	b, r := open(t, cfg), newRecorder()
	defer b.Close()
	var cured = make(chan struct{})
	subscribe(t, b, bus.TopicEvents, "g", func(ctx context.Context, m bus.Message) error {
		if text(t, m) == "poison" {
			select {
			case <-cured:
			default:
				return errors.New("not yet")
			}
		}
		return r.take(ctx, m)
	})
	publish(t, b, bus.TopicEvents, "sick", "poison")
	produce(t, cfg, behind)
	for i := range 20 {
		publish(t, b, bus.TopicEvents, fmt.Sprint(i), fmt.Sprintf("healthy %d", i))
	}
	healthy := func(got []taken) bool {
		return len(got) > 0 && strings.HasPrefix(got[0].text, "healthy")
	}
	r.until(t, healthy)
	for _, m := range r.all() {
		if m.key == "sick" {
			t.Fatalf("%q was taken before the poison in front of it", m.text)
		}
	}
	close(cured)
	r.until(t, func(got []taken) bool { return len(distinct(got)) == behind+1+20 })
}

// boundedBytes publishes much more than a partition may hold, in far fewer messages than it may hold.
func boundedBytes(t *testing.T, cfg bus.KafkaConfiguration) {
	const messages, size, bound = 40, 1 << 20, 8<<20 + 8<<20 + 2<<20 // the backlog, a fetch, and a message at the end of each
	b := open(t, cfg)
	defer b.Close()
	registry := prometheus.NewRegistry()
	registry.MustRegister(b)
	noise := make([]byte, size)
	for i := range noise {
		noise[i] = byte('a' + rand.IntN(26))
	}
	for i := range messages {
		publish(t, b, bus.TopicEvents, "key", fmt.Sprint(i)+string(noise))
	}
	open := make(chan struct{})
	var most float64
	got := make(chan struct{}, messages)
	subscribe(t, b, bus.TopicEvents, "g", func(context.Context, bus.Message) error {
		most = max(most, heldBytes(t, registry)) // again and again while the first message is refused
		select {
		case <-open:
			got <- struct{}{}
			return nil
		default:
			return errors.New("the store is away")
		}
	})
	await.True(t, "a backlog of bytes", func() bool { return heldBytes(t, registry) > 8<<20 })
	close(open)
	for range messages {
		await.Value(t, "every message", got)
	}
	if most > bound {
		t.Errorf("held %.0f bytes, want at most %d", most, bound)
	}
}

func heldBytes(t *testing.T, registry *prometheus.Registry) (sum float64) {
	families, err := registry.Gather()
	if err != nil {
		t.Error(err)
	}
	for _, f := range families {
		if f.GetName() == "millrace_internal_bus_held_bytes" {
			for _, m := range f.GetMetric() {
				sum += m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

// deletedBefore: a group takes two messages and goes; while it is away the broker deletes what is older than its
// retention.
func deletedBefore(t *testing.T, cfg bus.KafkaConfiguration) {
	cfg.Partitions = 1
	first, r := open(t, cfg), newRecorder()
	subscribe(t, first, bus.TopicEvents, "g", r.take)
	for i := range 2 {
		publish(t, first, bus.TopicEvents, "key", fmt.Sprint(i))
	}
	r.until(t, func(got []taken) bool { return len(distinct(got)) == 2 })
	first.Close()

	lost := make(chan int64, 1)
	cfg.Lost = func(topic, group string, messages int64) {
		if topic == bus.TopicEvents && group == "g" {
			lost <- messages
		}
	}
	second, r := open(t, cfg), newRecorder()
	defer second.Close()
	for i := range 5 {
		publish(t, second, bus.TopicEvents, "key", fmt.Sprint(2+i))
	}
	until := kadm.Offsets{}
	until.AddOffset(cfg.Prefix+bus.TopicEvents, 0, 5, -1)
	if _, err := adminClient(t, cfg).DeleteRecords(t.Context(), until); err != nil {
		t.Fatal(err)
	}
	subscribe(t, second, bus.TopicEvents, "g", r.take)
	r.until(t, func(got []taken) bool { return len(distinct(got)) == 2 })
	if n := await.Value(t, "the loss", lost); n != 3 {
		t.Errorf("told of %d lost messages, want 3", n)
	}
}

// produce writes many messages of one key quickly, past the bus.
func produce(t *testing.T, cfg bus.KafkaConfiguration, n int) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(cfg.Brokers...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for i := range n {
		text := fmt.Sprintf("sick %d", i)
		value := append([]byte{7<<3 | 2, byte(len(text))}, text...) // Event.text, field 7
		client.Produce(t.Context(), &kgo.Record{Topic: cfg.Prefix + bus.TopicEvents, Key: []byte("sick"), Value: value}, nil)
	}
	if err := client.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func topicShape(t *testing.T, cfg bus.KafkaConfiguration) {
	cfg.Partitions, cfg.Retention = 3, time.Hour
	b := open(t, cfg)
	defer b.Close()
	publish(t, b, bus.TopicEvents, "key", "text")
	publish(t, b, bus.TopicTopology, "key", "text")
	admin := adminClient(t, cfg)
	for topic, want := range map[string]map[string]string{
		bus.TopicEvents:   {"cleanup.policy": "delete", "retention.ms": "3600000"},
		bus.TopicTopology: {"cleanup.policy": "compact", "segment.ms": "3600000"},
	} {
		configs, err := admin.DescribeTopicConfigs(t.Context(), cfg.Prefix+topic)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, c := range configs[0].Configs {
			if _, ok := want[c.Key]; ok {
				got[c.Key] = c.MaybeValue()
			}
		}
		if d := cmp.Diff(got, want); d != "" {
			t.Errorf("%s (-got +want):\n%s", topic, d)
		}
		details, err := admin.ListTopics(t.Context(), cfg.Prefix+topic)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(details[cfg.Prefix+topic].Partitions); n != 3 {
			t.Errorf("%s: got %d partitions, want 3", topic, n)
		}
	}
}

func wrongPolicy(t *testing.T, cfg bus.KafkaConfiguration) {
	name := cfg.Prefix + bus.TopicTopology
	if _, err := adminClient(t, cfg).CreateTopic(t.Context(), 1, 1, nil, name); err != nil {
		t.Fatal(err)
	}
	b := open(t, cfg)
	defer b.Close()
	err := b.Subscribe(t.Context(), bus.TopicTopology, "g", newRecorder().take)
	if err == nil || !strings.Contains(err.Error(), "--add-config cleanup.policy=compact") {
		t.Errorf("got %v, want an error that says how to make %s compacted", err, name)
	}
}

// madeTogether: the controller says that a topic exists before the broker that gets the request for its settings knows
// it.
func madeTogether(t *testing.T, config func() bus.KafkaConfiguration) {
	for range 20 {
		cfg, failed := config(), make(chan error)
		const processes = 4
		for range processes {
			b := open(t, cfg)
			t.Cleanup(func() { b.Close() })
			go func() { failed <- b.Subscribe(t.Context(), bus.TopicTopology, "g", newRecorder().take) }()
		}
		for range processes {
			if err := await.Value(t, "a subscription to "+cfg.Prefix+bus.TopicTopology, failed); err != nil {
				t.Error(err)
			}
		}
	}
}

func overTLS(t *testing.T, cfg bus.KafkaConfiguration, broker *kafka.Broker) {
	cfg.Brokers, cfg.TLS = []string{broker.TLSAddr}, of(broker.PKI.Client(t, "millrace"))
	b, r := open(t, cfg), newRecorder()
	defer b.Close()
	subscribe(t, b, bus.TopicEvents, "g", r.take)
	publish(t, b, bus.TopicEvents, "key", "text")
	r.until(t, func(got []taken) bool { return len(got) == 1 })

	cfg.TLS = of(&tls.Config{RootCAs: broker.PKI.Pool()}) // no certificate of its own
	stranger := open(t, cfg)
	defer stranger.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := stranger.Publish(ctx, bus.TopicEvents, "key", &eventv1.Event{}); err == nil {
		t.Error("a client without certificate published")
	}
}

func smallTopic(t *testing.T, cfg bus.KafkaConfiguration) {
	limit := map[string]*string{"max.message.bytes": kadm.StringPtr("1000")}
	if _, err := adminClient(t, cfg).CreateTopic(t.Context(), 1, 1, limit, cfg.Prefix+bus.TopicEvents); err != nil {
		t.Fatal(err)
	}
	b := open(t, cfg)
	defer b.Close()
	err := b.Publish(t.Context(), bus.TopicEvents, "key", &eventv1.Event{Text: strings.Repeat("0123456789abcdef", 10_000)})
	if !errors.Is(err, bus.ErrTooLarge) || !strings.Contains(err.Error(), "set max.message.bytes") {
		t.Errorf("got %v, want ErrTooLarge that says what to set", err)
	}
}

func adminClient(t *testing.T, cfg bus.KafkaConfiguration) *kadm.Client {
	t.Helper()
	admin, err := kadm.NewOptClient(kgo.SeedBrokers(cfg.Brokers...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(admin.Close)
	return admin
}

func brokerGone(t *testing.T, cfg bus.KafkaConfiguration, broker *kafka.Broker) {
	b, r := open(t, cfg), newRecorder()
	subscribe(t, b, bus.TopicEvents, "g", r.take)
	publish(t, b, bus.TopicEvents, "key", "text")
	r.until(t, func(got []taken) bool { return len(got) == 1 })
	broker.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := b.Publish(ctx, bus.TopicEvents, "key", &eventv1.Event{}); err == nil {
		t.Error("publish without a broker: got no error")
	}
	closed := make(chan error, 1)
	go func() { closed <- b.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Error("Close hangs without a broker")
	}
}

// takesUp: an installation that had an in-process bus gets brokers.
func takesUp(t *testing.T, cfg bus.KafkaConfiguration) {
	folder, ctx := t.TempDir(), t.Context()
	memory, err := bus.OpenMemory(folder)
	if err != nil {
		t.Fatal(err)
	}
	publish(t, memory, bus.TopicFlows, "key", "first")
	publish(t, memory, bus.TopicFlows, "key", "second")
	if err := memory.Close(); err != nil {
		t.Fatal(err)
	}
	b, r := open(t, cfg), newRecorder()
	defer b.Close()
	for range 2 { // the second time there is nothing
		if err := b.TakeUp(ctx, folder); err != nil {
			t.Fatal(err)
		}
	}
	subscribe(t, b, bus.TopicFlows, bus.Keepers[bus.TopicFlows], r.take)
	r.until(t, func(got []taken) bool { return len(got) == 2 })
	if d := cmp.Diff(r.all(), []taken{{"key", "first"}, {"key", "second"}}, cmp.AllowUnexported(taken{})); d != "" {
		t.Errorf("messages (-got +want):\n%s", d)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
}
