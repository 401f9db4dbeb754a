package state_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/etcd"
	"github.com/millrace/millrace/internal/testkit/program"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
)

// An etcd that only restarts is not reported; one that comes back with a backup is, once.
func TestOlderDataIsReported(t *testing.T) {
	server := etcd.Start(t, program.OwnHost())
	store, err := state.Dial([]string{server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	codes := told(t, store)
	put := func(key string) {
		t.Helper()
		await.True(t, key+" is written", func() bool {
			_, err := store.Put(t.Context(), key, 0, wrapperspb.String(key))
			return err == nil
		})
	}
	put("a")
	server.Keep(t)
	put("b")
	server.Stop()
	server.Again(t)
	put("c")
	if times, _ := store.Rewound(); times != 0 {
		t.Fatalf("a restart is taken for older data, %d times", times)
	}
	_, next := store.Rewound()
	for n := range uint64(2) {
		server.PutBack(t)
		server.Again(t)
		put("b") // was forgotten
		<-next
		var times uint64
		if times, next = store.Rewound(); times != n+1 {
			t.Errorf("etcd came back with older data %d times, counted %d", n+1, times)
		}
		if code := <-codes; code != events.StateRewound.Code() {
			t.Errorf("told %s", code)
		}
		put("c")
	}
}

// An etcd with older data, to which others have written more than was lost, is reported, too.
func TestOlderDataThatIsAheadAgainIsReported(t *testing.T) {
	server := etcd.Start(t, program.OwnHost())
	dial := func() *state.Store {
		store, err := state.Dial([]string{server.URL})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		return store
	}
	put := func(store *state.Store, key string) {
		t.Helper()
		await.True(t, key+" is written", func() bool {
			_, err := store.Put(t.Context(), key, 0, wrapperspb.String(key))
			return err == nil
		})
	}
	writer, reader := dial(), dial()
	put(writer, "a")
	server.Keep(t)
	put(writer, "b")
	if _, err := reader.Get(t.Context(), "b", &wrapperspb.StringValue{}); err != nil {
		t.Fatal(err)
	}
	_, at, err := reader.Snapshot(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		for _, err := range reader.Watch(t.Context(), "", at+100) {
			if err != nil {
				ended <- err
			}
		}
	}()
	server.PutBack(t)
	server.Again(t)
	other := dial()
	for _, key := range []string{"c", "d", "e"} {
		put(other, key)
	}
	for name, store := range map[string]*state.Store{"who wrote": writer, "who read": reader} {
		await.True(t, name+" is answered", func() bool {
			_, err := store.Get(t.Context(), "c", &wrapperspb.StringValue{})
			return err == nil
		})
		if times, _ := store.Rewound(); times != 1 {
			t.Errorf("%s noticed older data %d times, want once", name, times)
		}
	}
	select {
	case <-ended: // and does not wait for revisions of the data that are gone
	case <-time.After(await.Patience):
		t.Error("who watches is told nothing")
	}
	if times, _ := other.Rewound(); times != 0 {
		t.Errorf("who came later noticed older data %d times", times)
	}
}

// told are the codes of the events of a store's keeper.
func told(t *testing.T, store *state.Store) <-chan string {
	b := bus.NewMemory()
	t.Cleanup(func() { _ = b.Close() })
	codes := make(chan string, 10)
	err := b.Subscribe(t.Context(), bus.TopicEvents, "test", func(_ context.Context, m bus.Message) error {
		e := &eventv1.Event{}
		defer func() { codes <- e.GetCode() }()
		return proto.Unmarshal(m.Value, e)
	})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	keeper := state.NewKeeper(store, nil, events.NewPublisher(b, log), log, prometheus.NewRegistry())
	if err := keeper.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = keeper.Stop(context.Background()) })
	return codes
}
