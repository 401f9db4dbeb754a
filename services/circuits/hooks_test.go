package circuits

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/life"
	"github.com/millrace/millrace/services/circuits/webhook"
)

// receiver is a program elsewhere that is notified of circuits.
type receiver struct {
	url, secretFile string

	mu   sync.Mutex
	down bool
	// got are the circuits that it received, by message; order are the messages.
	got   map[string]*circuitsv1.Circuit
	order []string
	tries int
}

func newReceiver(t *testing.T) *receiver {
	secret := "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("s", 24)))
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{secretFile: filepath.Join(t.TempDir(), "secret"), got: map[string]*circuitsv1.Circuit{}}
	if err := os.WriteFile(r.secretFile, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil || verifier.Verify(body, q.Header) != nil {
			t.Errorf("%s is not signed: %v", body, err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.tries++
		if r.down {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		var told struct {
			Type, Timestamp string
			Data            struct {
				Circuit struct {
					ID, State string
					History   []struct{ State string }
				}
			}
		}
		if err := json.Unmarshal(body, &told); err != nil || told.Timestamp == "" || told.Type != "circuit."+strings.ToLower(strings.TrimPrefix(told.Data.Circuit.State, "STATE_")) {
			t.Errorf("%s: %v", body, err)
		}
		is := &circuitsv1.Circuit{Id: told.Data.Circuit.ID, State: circuitsv1.State(circuitsv1.State_value[told.Data.Circuit.State])}
		for _, h := range told.Data.Circuit.History {
			is.History = append(is.History, &circuitsv1.Transition{State: circuitsv1.State(circuitsv1.State_value[h.State])})
		}
		id := q.Header.Get("webhook-id")
		r.got[id], r.order = is, append(r.order, id)
	}))
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

func (r *receiver) set(down bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = down
}

// states are those that a circuit was in, by the last message received.
func (r *receiver) states(id string) (out []circuitsv1.State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.order {
		if r.got[m].GetId() == id {
			out = nil
			for _, h := range r.got[m].GetHistory() {
				out = append(out, h.GetState())
			}
		}
	}
	return out
}

func (r *receiver) failed() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tries - len(r.order)
}

func (w *world) hooked(r *receiver) {
	w.cfg.Projects["astro"] = Project{Members: []string{"ann"}, Webhooks: []webhook.Target{{URL: r.url, SecretFile: r.secretFile, Private: true}}}
	w.pace = webhook.Pace{Answer: 10 * time.Second, First: time.Millisecond, Most: 5 * time.Millisecond, GiveUp: time.Hour}
}

// A target that is unreachable while circuits are booked and released, and while the service itself restarts, is
// notified of all changes when it is reachable again; one of two replicas notifies it.
func TestAWebhookMissesNothing(t *testing.T) {
	w := newWorld(t)
	r := newReceiver(t)
	w.hooked(r)
	c := w.start()
	await.True(t, "its position", func() bool {
		entries, err := w.store.List(t.Context(), hooksPrefix)
		return err == nil && slices.ContainsFunc(entries, func(e state.Entry) bool { return strings.HasSuffix(e.Key, "/position") })
	})
	first := w.booked(c, "1", w.terms("a", "b", 1))
	want := []circuitsv1.State{held, committed, scheduled}
	await.True(t, "the first is told", func() bool { return slices.Equal(r.states(first.GetId()), want) })
	r.set(true)
	var all []*circuitsv1.Circuit
	for i := range 5 {
		terms := w.terms("a", "b", 0)
		terms.RateBitsPerSecond = mega
		all = append(all, w.booked(c, fmt.Sprint("x", i), terms))
	}
	small := w.terms("b", "a", 0)
	small.RateBitsPerSecond = mega
	batch, err := w.requestAll(c, "batch", true, small, small)
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, batch...)
	await.True(t, "it has failed", func() bool { return r.failed() > 3 })
	if err := c.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	again, other := w.start(), w.start()
	if _, err := again.tell(t.Context(), all[0].GetId(), life.Event{Kind: life.Release, By: "ann"}); err != nil {
		t.Fatal(err)
	}
	r.set(false)
	for _, replica := range []*Component{again, other} {
		w.is(replica, all[0].GetId(), cancelled)
	}
	for i, one := range all {
		states := want
		if i == 0 {
			states = append(slices.Clone(want), cancelled)
		}
		await.True(t, fmt.Sprint("circuit ", i, " is told"), func() bool { return slices.Equal(r.states(one.GetId()), states) })
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.got) != len(r.order) {
		t.Errorf("told more than once, though every answer arrived: %v", r.order)
	}
}

// A target gets no changes of other projects.
func TestAWebhookIsOfItsProject(t *testing.T) {
	w := newWorld(t)
	r := newReceiver(t)
	w.hooked(r)
	c := w.start()
	await.True(t, "its position", func() bool {
		entries, err := w.store.List(t.Context(), hooksPrefix)
		return err == nil && slices.ContainsFunc(entries, func(e state.Entry) bool { return strings.HasSuffix(e.Key, "/position") })
	})
	theirs := w.terms("a", "b", 1)
	theirs.Project = "bio"
	other, err := (&api{c}).Request(t.Context(), connect.NewRequest(&circuitsv1.RequestRequest{RequestId: "1", By: "bea", Terms: theirs}))
	if err != nil {
		t.Fatal(err)
	}
	ours := w.booked(c, "2", w.terms("a", "b", 1))
	await.True(t, "what is ours", func() bool { return len(r.states(ours.GetId())) == 3 })
	if states := r.states(other.Msg.GetCircuit().GetId()); states != nil {
		t.Errorf("told of another project: %v", states)
	}
}
