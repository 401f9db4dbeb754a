package circuits

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"connectrpc.com/connect"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/proto/gen/millrace/circuits/v1/circuitsv1connect"
)

// A watcher gets the circuits that exist, and then every change, also those of another replica.
func TestWatch(t *testing.T) {
	w := newWorld(t)
	c, other := w.start(), w.start()
	first := w.booked(c, "1", w.terms("a", "b", 1))
	mux := http.NewServeMux()
	mux.Handle(c.Handler())
	server := httptest.NewServer(mux)
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := circuitsv1connect.NewCircuitsServiceClient(server.Client(), server.URL).Watch(ctx, connect.NewRequest(&circuitsv1.WatchRequest{Project: "astro"}))
	if err != nil {
		t.Fatal(err)
	}
	next := func() string {
		t.Helper()
		if !stream.Receive() {
			t.Fatal(stream.Err())
		}
		return stream.Msg().GetCircuit().GetId() + " " + stream.Msg().GetCircuit().GetState().String()
	}
	if got := next(); got != first.GetId()+" STATE_SCHEDULED" {
		t.Errorf("at first %s", got)
	}
	// It is committed in one transaction: there is no moment at which a lost answer leaves it held, to expire.
	second := w.booked(other, "2", w.terms("a", "b", 1))
	for _, want := range []string{"STATE_COMMITTED", "STATE_SCHEDULED"} {
		if got := next(); got != second.GetId()+" "+want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestWatchersAreBounded(t *testing.T) {
	c := newWorld(t).start()
	if err := c.ledger.Look("", func(func(func(*circuitsv1.Record) bool)) {
		for range maxWatchers {
			c.book.watchers[&watcher{}] = true
		}
	}); err != nil {
		t.Fatal(err)
	}
	err := (&api{c}).Watch(t.Context(), connect.NewRequest(&circuitsv1.WatchRequest{}), nil)
	if connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("one stream more: %v", err)
	}
}
