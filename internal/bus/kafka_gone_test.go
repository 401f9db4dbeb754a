package bus_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/testkit/await"
)

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
	admin := adminClient(t, cfg)
	if _, err := admin.DeleteTopic(t.Context(), cfg.Prefix+bus.TopicEvents); err != nil {
		t.Fatal(err)
	}
	publish(t, b, bus.TopicEvents, "key", "after")
	ill.Store(false)
	r.until(t, func(got []taken) bool { return len(distinct(got)) == 7 })
	publish(t, b, bus.TopicEvents, "key", "later")
	r.until(t, func(got []taken) bool { return len(distinct(got)) == 8 })
}
