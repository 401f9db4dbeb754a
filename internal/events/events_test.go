package events

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/millrace/millrace/internal/bus"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
)

func TestPublishesOnTheBusAndInTheLog(t *testing.T) {
	for _, c := range []struct {
		level    string
		severity eventv1.Severity
		kind     Kind
	}{
		{"INFO", eventv1.Severity_SEVERITY_INFO, PairFound},
		{"WARN", eventv1.Severity_SEVERITY_WARNING, ExporterRefused},
		{"ERROR", eventv1.Severity_SEVERITY_ERROR, NightlyFailed},
	} {
		t.Run(c.level, func(t *testing.T) {
			b := bus.NewMemory()
			defer b.Close()
			got := make(chan bus.Message, 1)
			err := b.Subscribe(t.Context(), bus.TopicEvents, "test", func(_ context.Context, m bus.Message) error { got <- m; return nil })
			if err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			p := NewPublisher(b, slog.New(slog.NewTextHandler(&log, nil)))
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // a request that was broken off
			p.Publish(ctx, c.kind, "pair-1", "a pair was found")

			m := <-got
			e := &eventv1.Event{}
			if err := proto.Unmarshal(m.Value, e); err != nil {
				t.Fatal(err)
			}
			want := &eventv1.Event{Source: "services/alpha", Severity: c.severity, Code: c.kind.Code(), Subject: "pair-1", Text: "a pair was found"}
			if d := cmp.Diff(e, want, protocmp.Transform(), protocmp.IgnoreFields(&eventv1.Event{}, "id", "time")); d != "" {
				t.Errorf("event (-got +want):\n%s", d)
			}
			if m.Key != "pair-1" || e.GetId() == "" || !e.GetTime().IsValid() {
				t.Errorf("got key %q, id %q, time %v; want the subject, an id and a time", m.Key, e.GetId(), e.GetTime())
			}
			if !strings.Contains(log.String(), `level=`+c.level+` msg="a pair was found" code=`+c.kind.Code()+` subject=pair-1`) {
				t.Errorf("log: %s", log.String())
			}
		})
	}
}

func TestEachEventHasItsOwnID(t *testing.T) {
	b := bus.NewMemory()
	defer b.Close()
	ids := make(chan string, 2)
	err := b.Subscribe(t.Context(), bus.TopicEvents, "test", func(_ context.Context, m bus.Message) error {
		e := &eventv1.Event{}
		defer func() { ids <- e.GetId() }()
		return proto.Unmarshal(m.Value, e)
	})
	if err != nil {
		t.Fatal(err)
	}
	p := NewPublisher(b, slog.New(slog.DiscardHandler))
	for range 2 {
		p.Publish(t.Context(), PairFound, "subject", "text")
	}
	if a, b := <-ids, <-ids; a == b {
		t.Errorf("two events with id %s", a)
	}
}

func TestABusThatIsClosedStopsNobody(t *testing.T) {
	b := bus.NewMemory()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	NewPublisher(b, slog.New(slog.NewTextHandler(&log, nil))).Publish(t.Context(), PairFound, "subject", "text")
	if !strings.Contains(log.String(), "event not published") || !strings.Contains(log.String(), bus.ErrClosed.Error()) {
		t.Errorf("log: %s", log.String())
	}
}

// TestABusWithoutRoomStopsNobodyForLong fills the bus: the publisher must come back by itself.
func TestABusWithoutRoomStopsNobodyForLong(t *testing.T) {
	b := bus.NewMemory()
	defer b.Close()
	err := b.Subscribe(t.Context(), bus.TopicEvents, "stuck", func(ctx context.Context, _ bus.Message) error {
		<-ctx.Done()
		return ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	p := NewPublisher(b, slog.New(slog.NewTextHandler(&log, nil)))
	for !strings.Contains(log.String(), "event not published") {
		p.Publish(t.Context(), PairFound, "subject", "text")
	}
}
