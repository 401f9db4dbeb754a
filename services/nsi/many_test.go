package nsi

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	nsiv1 "github.com/millrace/millrace/proto/gen/millrace/nsi/v1"
	"github.com/millrace/millrace/services/nsi/states"
)

// Every message of many connections that change at once is sent once, though the mirror learns late what was sent.
func TestMessagesAreSentOnce(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), newRequester(t)
	w.mayCall(r.url)
	c := w.start()
	var all sync.WaitGroup
	asked := make([]string, 60)
	for i := range asked {
		asked[i] = newID()
		all.Go(func() {
			if status, answer := r.send(c, asked[i], reserve("west", "nowhere")); status != http.StatusOK {
				t.Errorf("%d: %s", status, answer)
			}
		})
	}
	all.Wait()
	await.True(t, "all are told", func() bool {
		told := 0
		for _, id := range asked {
			told += min(r.times("reserveFailed "+id), 1)
		}
		return told == len(asked)
	})
	for _, id := range asked {
		if n := r.times("reserveFailed " + id); n != 1 {
			t.Errorf("%s was sent %d times", id, n)
		}
	}
}

// A message that cannot be delivered is retried later and later; what is requested meanwhile is done at once.
func TestFailedCallbacksDelayNoWork(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), newRequester(t)
	w.mayCall(r.url)
	r.refuse = 1 << 30
	still := time.Now()
	w.now = func() time.Time { return still } // a pause never ends
	c := w.start()
	id := r.connection(r.send(c, newID(), reserve("west", "nowhere")))
	await.True(t, "a callback has failed", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.pauses) > 0
	})
	if status, answer := r.send(c, newID(), about("terminate", id)); status != http.StatusOK {
		t.Fatalf("%d: %s", status, answer)
	}
	await.True(t, "it is terminated", func() bool {
		is := &nsiv1.Connection{}
		_, err := w.store.Get(t.Context(), connections+id, is)
		must(t, err)
		return is.GetLifecycle() == string(states.Terminated)
	})
}

// A requester that does not answer callbacks has a few workers wait, and another requester gets its messages.
func TestASlowRequesterDelaysNoOther(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), newRequester(t)
	w.mayCall(r.url)
	var waiting atomic.Int64
	over := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		waiting.Add(1)
		<-over
	}))
	t.Cleanup(slow.Close)
	t.Cleanup(func() { close(over) })
	const other = "urn:ogf:network:slow.example:2026:nsa"
	w.cfg.Requesters[other] = Requester{Project: "nsi", By: "aggregator", ReplyTo: []string{slow.URL + "/"}}
	for range 2 * atOnce {
		m := &nsiv1.Message{Name: "querySummaryConfirmed", Requester: other, ReplyTo: slow.URL + "/", Time: timestamppb.Now()}
		must(t, w.store.Apply(t.Context(), state.Op{Key: answers + newID(), Value: m}))
	}
	c, first := w.start(), newID()
	await.True(t, "messages are sent", func() bool { return waiting.Load() >= sendsAtOnce })
	r.send(c, first, reserve("west", "nowhere"))
	r.told("reserveFailed " + first)
	if n := waiting.Load(); n >= atOnce {
		t.Errorf("%d messages are sent to the slow one", n)
	}
}
