package nsi

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/proto/gen/millrace/circuits/v1/circuitsv1connect"
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

// resting are circuits c0, c1 and so on, which are booked and nothing more; looked is called before each answer.
type resting struct {
	circuitsv1connect.CircuitsServiceClient
	looked func(ctx context.Context, id string)
}

// Get implements CircuitsServiceClient.
func (r resting) Get(ctx context.Context, ask *connect.Request[circuitsv1.GetRequest]) (*connect.Response[circuitsv1.GetResponse], error) {
	r.looked(ctx, ask.Msg.GetId())
	return connect.NewResponse(&circuitsv1.GetResponse{Circuit: &circuitsv1.Circuit{Id: ask.Msg.GetId(), State: circuitsv1.State_STATE_SCHEDULED}}), nil
}

// restingConnection is committed, and has circuit ci.
func restingConnection(i int) *nsiv1.Connection {
	return &nsiv1.Connection{
		Id: fmt.Sprintf("x%d", i), Requester: theirNSA, Version: 1, Reservation: string(states.Start), Provision: string(states.Released),
		Lifecycle: string(states.Created), Circuits: []string{fmt.Sprintf("c%d", i)}, Criteria: &nsiv1.Criteria{}, Changed: timestamppb.Now(),
	}
}

// Connections that merely rest delay no answer, however many they are and however long a look at one takes.
func TestConnectionsThatRestDelayNoAnswer(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), newRequester(t)
	w.mayCall(r.url)
	var looking atomic.Int64
	w.circuits = resting{w.circuits, func(ctx context.Context, _ string) {
		looking.Add(1)
		<-ctx.Done()
	}}
	for i := range 2 * atOnce {
		one := restingConnection(i)
		must(t, w.store.Apply(t.Context(), state.Op{Key: connections + one.GetId(), Value: one}))
	}
	c, first := w.start(), newID()
	await.True(t, "looks have all their workers", func() bool { return looking.Load() == atOnce })
	r.send(c, first, reserve("west", "nowhere"))
	r.told("reserveFailed " + first)
}

// Every connection is looked at once in each tick, the one first that was looked at the longest ago, though there are
// more than workers; and again where its record has changed.
func TestEveryConnectionIsLookedAtInEachTick(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var looked []string
	circuits := resting{looked: func(_ context.Context, id string) {
		mu.Lock()
		defer mu.Unlock()
		looked = append(looked, id)
	}}
	c, err := New(DefaultConfiguration(), Dependencies{Circuits: circuits, Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	w := newWorkers(c)
	const all = 5 * atOnce
	for i := range all {
		one := restingConnection(i)
		c.known[connections+one.GetId()] = entry{revision: int64(i + 1), connection: one}
	}
	round := func() []string {
		looked = nil
		w.round(t.Context())
		w.all.Wait()
		slices.Sort(looked)
		return slices.Compact(looked)
	}
	if got := round(); len(got) != all || len(looked) != all {
		t.Errorf("%d of %d are looked at, %d times", len(got), all, len(looked))
	}
	if got := round(); len(got) != 0 {
		t.Errorf("in the same tick %v once more", got)
	}
	changed := c.known[connections+"x7"]
	changed.revision += all
	c.known[connections+"x7"] = changed
	if got := round(); !slices.Equal(got, []string{"c7"}) {
		t.Errorf("after x7 has changed: %v", got)
	}
	w.tick()
	if got := round(); len(got) != all || len(looked) != all {
		t.Errorf("in the next tick %d of %d, %d times", len(got), all, len(looked))
	}
	// Half of them were looked at in this tick, and then the next one comes.
	w.tick()
	for i := range all / 2 {
		key := connections + fmt.Sprintf("x%d", i)
		w.glances[key] = glance{w.ticks, c.known[key].revision}
	}
	w.tick()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	w.round(gone) // its workers begin nothing
	w.all.Wait()
	for i, one := range w.queues[pool{task: looks}] {
		if late := one.glance.tick == w.ticks-1; late != (i >= all-all/2) {
			t.Fatalf("%s is number %d of %d", one.key, i, all)
		}
	}
}

// What is due again while it is done is begun as soon as that has ended, and not at the next tick.
func TestWorkThatIsDueAgainIsBegunAtOnce(t *testing.T) {
	t.Parallel()
	c, err := New(DefaultConfiguration(), Dependencies{Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	w := newWorkers(c)
	one := restingConnection(1)
	one.Work = []*nsiv1.Work{{Operation: string(states.Provide)}}
	j := job{key: connections + one.GetId()}
	c.known[j.key] = entry{revision: 1, connection: one}
	w.busy[j] = false
	w.done(j)
	if len(c.woken) != 0 {
		t.Error("the leader is woken by every job that ends")
	}
	w.busy[j] = false
	w.round(t.Context())
	w.done(j)
	if len(c.woken) != 1 {
		t.Error("the leader is not woken")
	}
}
