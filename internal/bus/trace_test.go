package bus_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/otlp"
	"github.com/millrace/millrace/internal/trace"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
)

// traced publishes one message in a trace and one in none, and returns the tree of spans.
func traced(t *testing.T, b bus.Bus) string {
	collector := otlp.Start(t)
	stop, err := trace.Start(t.Context(), trace.Configuration{Endpoint: collector.URL, Ratio: 1}, "millrace", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	took := make(chan bool, 2)
	if err := b.Subscribe(t.Context(), bus.TopicEvents, "group", func(ctx context.Context, _ bus.Message) error {
		took <- trace.Parent(ctx) != ""
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	ctx, span := trace.Root(t.Context(), "publish")
	for _, of := range []context.Context{ctx, t.Context()} {
		if err := b.Publish(of, bus.TopicEvents, "key", &eventv1.Event{Text: "text"}); err != nil {
			t.Fatal(err)
		}
	}
	span.End(nil)
	if !await.Value(t, "the first message", took) || await.Value(t, "the second message", took) {
		t.Error("want the first message in the trace, and the second in none")
	}
	if err := b.Close(); err != nil { // so that handlers have ended
		t.Error(err)
	}
	if err := stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	return collector.Tree()
}

const oneTrace = "publish\n  group takes millrace.events.v1\n"

func TestATraceGoesOverTheBusInMemory(t *testing.T) {
	if got := traced(t, bus.NewMemory()); got != oneTrace {
		t.Errorf("spans:\n%s", got)
	}
}
