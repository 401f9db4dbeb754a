package push

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/testkit/await"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// codes of all events of a world, as they come.
func (w *world) codes() <-chan string {
	w.t.Helper()
	out := make(chan string, 100)
	err := w.deps.Bus.Subscribe(w.t.Context(), bus.TopicEvents, "test", func(_ context.Context, m bus.Message) error {
		e := &eventv1.Event{}
		defer func() { out <- e.GetCode() + " " + e.GetSubject() }()
		return proto.Unmarshal(m.Value, e)
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func TestFreezesAreNamedSignedAndListed(t *testing.T) {
	w := newWorld(t)
	codes := w.codes()
	for _, c := range []struct {
		name string
		req  *pushv1.FreezeRequest
		want connect.Code
	}{
		{"nobody", &pushv1.FreezeRequest{Reason: "storm"}, connect.CodeInvalidArgument},
		{"without a reason", &pushv1.FreezeRequest{By: "ann"}, connect.CodeInvalidArgument},
		{"a router that is not there", &pushv1.FreezeRequest{By: "ann", Reason: "storm", Router: "xx"}, connect.CodeNotFound},
		{"a router", &pushv1.FreezeRequest{By: "ann", Reason: "storm", Router: "wr"}, 0},
		{"twice", &pushv1.FreezeRequest{By: "bob", Reason: "storm", Router: "wr"}, connect.CodeFailedPrecondition},
		{"all", &pushv1.FreezeRequest{By: "bob", Reason: "audit"}, 0},
	} {
		_, err := w.api.Freeze(t.Context(), connect.NewRequest(c.req))
		if got := connect.CodeOf(err); err != nil && got != c.want || err == nil && c.want != 0 {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	w.stop()
	w.start() // freezes outlive the process
	list, err := w.api.ListFreezes(t.Context(), connect.NewRequest(&pushv1.ListFreezesRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range list.Msg.GetFreezes() {
		got = append(got, f.GetRouter()+" "+f.GetBy()+" "+f.GetReason())
	}
	if want := []string{" bob audit", "wr ann storm"}; !slices.Equal(got, want) {
		t.Errorf("frozen: %q, want %q", got, want)
	}
	if _, err := w.api.Unfreeze(t.Context(), connect.NewRequest(&pushv1.UnfreezeRequest{By: "ann"})); err != nil {
		t.Error(err)
	}
	if _, err := w.api.Unfreeze(t.Context(), connect.NewRequest(&pushv1.UnfreezeRequest{By: "ann", Router: "er"})); connect.CodeOf(err) != connect.CodeFailedPrecondition {
		t.Errorf("a router that is not frozen: %v", err)
	}
	for _, want := range []string{"routers-frozen wr", "routers-frozen all routers", "routers-unfrozen all routers"} {
		if got := await.Value(t, want, codes); got != want {
			t.Errorf("event %q, want %q", got, want)
		}
	}
}

// A freeze that was turned on between the reading and the deletion of the one before it is another person's, and stays.
func TestUnfreezeTurnsOffWhatWasReadAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	freeze := func(by string) {
		t.Helper()
		if _, err := w.api.Freeze(t.Context(), connect.NewRequest(&pushv1.FreezeRequest{Router: "wr", By: by, Reason: "storm"})); err != nil {
			t.Fatal(err)
		}
	}
	freeze("ann")
	read, err := w.deps.State.Get(t.Context(), freezeKey("wr"), &pushv1.Freeze{})
	if err != nil {
		t.Fatal(err)
	}
	must(t, w.command([]string{"unfreeze", "wr"}), "")
	if err := w.push.thaw(t.Context(), "wr", read); !errors.Is(err, errWrongState) || !strings.Contains(err.Error(), "wr is not frozen") {
		t.Errorf("a freeze that is off already: %v", err)
	}
	freeze("bob")
	if err := w.push.thaw(t.Context(), "wr", read); !errors.Is(err, errWrongState) || !strings.Contains(err.Error(), "wr was frozen anew") {
		t.Errorf("another person's freeze: %v", err)
	}
	if list, err := w.push.freezes(t.Context()); err != nil || len(list) != 1 || list[0].GetBy() != "bob" {
		t.Errorf("frozen: %v (%v), want bob's", list, err)
	}
}
