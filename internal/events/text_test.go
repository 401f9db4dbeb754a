package events

import (
	"context"
	"log/slog"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/testkit/await"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
)

// What a router says in its own words, such as the message of a gRPC status, may be in another encoding. Protobuf takes
// UTF-8 alone, so the event would wait for ever, and every later one behind it.
func TestATextThatIsNoUTF8HoldsUpNoEvent(t *testing.T) {
	b := bus.NewMemory()
	defer b.Close()
	got := make(chan *eventv1.Event, 2)
	err := b.Subscribe(t.Context(), bus.TopicEvents, "test", func(_ context.Context, m bus.Message) error {
		e := &eventv1.Event{}
		defer func() { got <- e }()
		return proto.Unmarshal(m.Value, e)
	})
	if err != nil {
		t.Fatal(err)
	}
	p := NewPublisher(b, slog.New(slog.DiscardHandler))
	const latin1 = "Schnittstelle gest\xf6rt"
	p.PublishDetail(t.Context(), RouterUnreachable, "w\xfcrzburg", latin1, "- "+latin1+"\n+ ok")
	first := await.Value(t, "the event", got)
	const want = "Schnittstelle gest\uFFFDrt"
	if first.GetSubject() != "w\uFFFDrzburg" || first.GetText() != want || first.GetDetail() != "- "+want+"\n+ ok" {
		t.Errorf("%v", first)
	}
	p.Publish(t.Context(), RouterReachable, "wr", "wr answers again")
	if next := await.Value(t, "the event after it", got); next.GetCode() != RouterReachable.Code() {
		t.Errorf("%v", next)
	}
}
