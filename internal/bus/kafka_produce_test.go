package bus_test

import (
	"context"
	"errors"
	"testing"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/kafka"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
)

// waitEach: the client puts messages that wait into one batch, which ends with the context of the first.
func waitEach(t *testing.T, cfg bus.KafkaConfiguration, broker *kafka.Broker) {
	b := open(t, cfg)
	defer b.Close()
	publish(t, b, bus.TopicEvents, "key", "the topic is there")
	broker.Stand(t)
	defer broker.Move(t)
	hasty, leave := context.WithCancel(t.Context())
	answers := make([]chan error, 4)
	for i := range answers {
		ctx := t.Context()
		if i == 1 { // the first of those that wait behind what is under way
			ctx = hasty
		}
		answers[i] = make(chan error, 1)
		go func() { answers[i] <- b.Publish(ctx, bus.TopicEvents, "key", &eventv1.Event{}) }()
		await.True(t, "one more message waits", func() bool { return b.Buffered() == int64(i+1) })
	}
	leave()
	if err := await.Value(t, "the end of the one in haste", answers[1]); !errors.Is(err, context.Canceled) {
		t.Errorf("the publisher in haste: %v", err)
	}
	broker.Move(t)
	for _, i := range []int{0, 2, 3} {
		if err := await.Value(t, "an answer", answers[i]); err != nil {
			t.Errorf("publisher %d, which has time: %v", i, err)
		}
	}
}
