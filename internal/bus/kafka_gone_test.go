package bus_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/testkit/await"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
)

// suspectedTopic: where there are several brokers, one of them may not know a topic yet that was made this moment. That
// topic is not gone, and what its publisher sends later is not lost.
func suspectedTopic(t *testing.T, cfg bus.KafkaConfiguration) {
	b, r := open(t, cfg), newRecorder()
	defer b.Close()
	subscribe(t, b, bus.TopicEvents, "g", r.take)
	const each = 3
	for i := range each {
		publish(t, b, bus.TopicEvents, "key", fmt.Sprint("before ", i))
	}
	another, err := b.Suspected(t.Context(), bus.TopicEvents)
	if another || err != nil {
		t.Errorf("a topic that is there is taken for another one: %v, %v", another, err)
	}
	for i := range each {
		publish(t, b, bus.TopicEvents, "key", fmt.Sprint("after ", i))
	}
	r.until(t, func(got []taken) bool { return len(distinct(got)) == 2*each })
}

// deletedTopic: somebody deletes a topic under publishers and a group that live on, once while the group holds messages
// that it has not taken.
func deletedTopic(t *testing.T, cfg bus.KafkaConfiguration) {
	cfg.Partitions = 2
	b, r := open(t, cfg), newRecorder()
	defer b.Close()
	registry := prometheus.NewRegistry()
	registry.MustRegister(b)
	var ill atomic.Bool
	subscribe(t, b, bus.TopicEvents, "g", func(ctx context.Context, m bus.Message) error {
		if ill.Load() {
			return errors.New("the handler's store is away")
		}
		return r.take(ctx, m)
	})
	publish(t, b, bus.TopicEvents, "key", "before")
	r.until(t, func(got []taken) bool { return len(got) == 1 })

	ill.Store(true)
	const each = 256 // bytes at least that a message takes in memory
	for i := range 5 {
		publish(t, b, bus.TopicEvents, "key", fmt.Sprint("held ", i))
	}
	await.True(t, "the group holds all five", func() bool { return heldBytes(t, registry) >= 5*each })
	remove(t, cfg, bus.TopicEvents)
	publish(t, b, bus.TopicEvents, "key", "after")
	ill.Store(false)
	r.until(t, func(got []taken) bool { return len(distinct(got)) == 7 })
	publish(t, b, bus.TopicEvents, "key", "later")
	r.until(t, func(got []taken) bool { return len(distinct(got)) == 8 })
}

// deletedInHaste: a publisher that has two seconds for each attempt, as that of events, finds the topic that is gone.
// The Kafka client takes longer to say so.
func deletedInHaste(t *testing.T, cfg bus.KafkaConfiguration) {
	b, r := open(t, cfg), newRecorder()
	defer b.Close()
	publish(t, b, bus.TopicEvents, "key", "before")
	remove(t, cfg, bus.TopicEvents)
	await.True(t, "an event is published", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		return b.Publish(ctx, bus.TopicEvents, "key", &eventv1.Event{Text: "after"}) == nil
	})
	subscribe(t, b, bus.TopicEvents, "g", r.take)
	r.until(t, func(got []taken) bool { return len(got) > 0 })
}

// poisonedAndDeleted: a group holds a message that its handler never takes, of a topic that somebody deletes. The
// message is lost, and logged; the group goes on with the topic there is then, in all of its partitions.
func poisonedAndDeleted(t *testing.T, cfg bus.KafkaConfiguration) {
	lost := make(chan int64, 10)
	cfg.Partitions, cfg.GiveUp = 1, time.Second
	cfg.Lost = func(_, _ string, messages int64) { lost <- messages }
	b, r := open(t, cfg), newRecorder()
	defer b.Close()
	refused := make(chan struct{}, 1)
	subscribe(t, b, bus.TopicEvents, "g", func(ctx context.Context, m bus.Message) error {
		if m.Key != "poison" {
			return r.take(ctx, m)
		}
		select {
		case refused <- struct{}{}:
		default:
		}
		return errors.New("never")
	})
	publish(t, b, bus.TopicEvents, "poison", "held")
	await.Value(t, "the message is refused", refused)
	remove(t, cfg, bus.TopicEvents)
	publish(t, b, bus.TopicEvents, "key", "after")
	r.until(t, func(got []taken) bool { return len(got) == 1 })
	if n := await.Value(t, "what is lost is told", lost); n != 1 {
		t.Errorf("told of %d lost messages, want 1", n)
	}
}

// remove deletes a topic and waits until the broker does not have it: what it still took would be lost with it.
func remove(t *testing.T, cfg bus.KafkaConfiguration, topic string) {
	t.Helper()
	admin, name := adminClient(t, cfg), cfg.Prefix+topic
	id := func() kadm.TopicID {
		topics, err := admin.ListTopics(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		return topics[name].ID
	}
	before := id()
	if _, err := admin.DeleteTopic(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	await.True(t, "the topic is gone, or another one", func() bool { return id() != before })
}
