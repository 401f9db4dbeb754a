package circuits

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/proto/gen/millrace/circuits/v1/circuitsv1connect"
	"github.com/millrace/millrace/services/circuits/ledger"
)

// oneDeaf are two replicas of which the second hears nothing of the book while deaf is true; looked gets a value when
// it reads a record.
func (w *world) oneDeaf() (one, two *Component, deaf *atomic.Bool, looked chan struct{}) {
	deaf, looked = new(atomic.Bool), make(chan struct{}, 1000)
	store := w.store.WithFaults(func(key string, _ []byte) state.Fault {
		if strings.HasPrefix(key, "circuits/book/records/") {
			looked <- struct{}{}
		}
		if deaf.Load() && key == "circuits/book/" {
			return state.Refused
		}
		return state.None
	})
	return w.start(), w.startOn(store), deaf, looked
}

// A replica that hears nothing of the book does not deny a circuit that another one has booked: it looks in etcd, and
// answers once it has caught up.
func TestAReplicaThatIsBehindDeniesNoCircuit(t *testing.T) {
	w := newWorld(t)
	one, two, deaf, looked := w.oneDeaf()
	deaf.Store(true)
	got, err := w.request(one, "1", w.terms("a", "b", 1), false)
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]chan error{"get": make(chan error, 1), "commit": make(chan error, 1)}
	go func() {
		_, err := (&api{two}).Get(t.Context(), connect.NewRequest(&circuitsv1.GetRequest{Id: got.GetId()}))
		answers["get"] <- err
	}()
	go func() {
		_, err := (&api{two}).Commit(t.Context(), connect.NewRequest(&circuitsv1.CommitRequest{Id: got.GetId(), By: "ann"}))
		answers["commit"] <- err
	}()
	for range answers {
		select {
		case <-looked:
		case err := <-answers["get"]:
			t.Fatalf("read before it is there: %v", err)
		case err := <-answers["commit"]:
			t.Fatalf("committed before it is there: %v", err)
		}
	}
	_, err = (&api{two}).Get(t.Context(), connect.NewRequest(&circuitsv1.GetRequest{Id: "none"}))
	if connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("a circuit that nobody has: %v", err)
	}
	deaf.Store(false)
	for name, answer := range answers {
		if err := await.Value(t, name, answer); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.is(two, got.GetId(), scheduled)
}

// Nor does it take for outdated what is newer than what it knows.
func TestAReplicaThatIsBehindModifiesWhatIsNewer(t *testing.T) {
	w := newWorld(t)
	one, two, deaf, looked := w.oneDeaf()
	got := w.booked(one, "1", w.terms("a", "b", 1))
	w.is(two, got.GetId(), scheduled)
	deaf.Store(true)
	newer := w.modified(one, &circuitsv1.ModifyRequest{Id: got.GetId(), Version: got.GetVersion(), RateBitsPerSecond: 2 * giga})
	for len(looked) > 0 {
		<-looked
	}
	answer := make(chan error, 1)
	go func() {
		_, err := w.modify(two, &circuitsv1.ModifyRequest{Id: got.GetId(), Version: newer.GetVersion(), RateBitsPerSecond: 3 * giga})
		answer <- err
	}()
	select {
	case <-looked:
	case err := <-answer:
		t.Fatalf("answered without a look: %v", err)
	}
	deaf.Store(false)
	if err := await.Value(t, "the answer", answer); err != nil {
		t.Error(err)
	}
}

// services/paths answers with what it has, also while the collector is gone.
func TestATopologyThatNobodyReadsIsNotTrusted(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	for _, step := range []struct {
		age  time.Duration
		want bool
	}{{w.cfg.TopologyAge / 2, true}, {2 * w.cfg.TopologyAge, false}, {0, true}} {
		w.unread(step.age)
		await.True(t, fmt.Sprintf("with a topology of %s a quote is answered: %t", step.age, step.want), func() bool {
			_, err := w.quote(c, w.terms("a", "b", 1))
			return step.want == (err == nil) && (err == nil || connect.CodeOf(err) == connect.CodeUnavailable)
		})
	}
}

// A topology that is not read any more is not booked on: links may be gone, and nobody says so. What is held already is
// committed and given up.
func TestAnOldTopologyIsNotTrusted(t *testing.T) {
	w := newWorld(t)
	w.cfg.TopologyAge = time.Second
	c := w.start()
	var hold *circuitsv1.Circuit
	await.True(t, "a hold", func() (granted bool) {
		var err error
		hold, err = w.request(c, "1", w.terms("a", "b", 1), false)
		return err == nil
	})
	w.pathsAway(true)
	await.True(t, "that it is unavailable", func() bool {
		_, err := w.quote(c, w.terms("a", "b", 1))
		return connect.CodeOf(err) == connect.CodeUnavailable
	})
	if _, err := w.request(c, "2", w.terms("a", "b", 1), true); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("a request: %v", err)
	}
	if _, err := (&api{c}).Calendar(t.Context(), connect.NewRequest(&circuitsv1.CalendarRequest{})); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("the calendar: %v", err)
	}
	r, err := (&api{c}).Commit(t.Context(), connect.NewRequest(&circuitsv1.CommitRequest{Id: hold.GetId(), By: "ann"}))
	if err != nil || r.Msg.GetCircuit().GetState() != committed {
		t.Errorf("commit: %v, %v; want committed, as it is unknown whether its path is there", r, err)
	}
	w.pathsAway(false)
	w.is(c, hold.GetId(), scheduled)
}

// A watcher that does not read is disconnected once it is too far behind, over both versions of HTTP: otherwise
// its connection, and the changes that wait for it, would stay for ever.
func TestAWatcherThatDoesNotReadIsDropped(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	c.grace = 10 * time.Millisecond
	long := w.terms("a", "b", 1)
	long.Description = strings.Repeat("x", 500)
	for range 100 {
		long.Pairs = append(long.Pairs, &circuitsv1.PrefixPair{Source: "192.0.2.0/24", Destination: "198.51.100.0/24"})
	}
	w.booked(c, "1", long)
	path, handler := c.Handler()
	var open atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc(path, func(out http.ResponseWriter, r *http.Request) {
		open.Add(1)
		defer open.Add(-1)
		handler.ServeHTTP(out, r)
	})
	server := httptest.NewUnstartedServer(mux)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	defer server.Close()
	for name, choose := range map[string]func(*http.Protocols){
		"HTTP/1.1": func(p *http.Protocols) { p.SetHTTP1(true) },
		"HTTP/2":   func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) },
	} {
		protocols := new(http.Protocols)
		choose(protocols)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel() // before the server closes, which waits for who is connected
		client := &http.Client{Transport: &http.Transport{Protocols: protocols}}
		// Compressed, a hundred thousand changes would fit into the buffers on the way to him.
		plain := connect.WithAcceptCompression("gzip", nil, nil)
		stream, err := circuitsv1connect.NewCircuitsServiceClient(client, server.URL, plain).Watch(ctx, connect.NewRequest(&circuitsv1.WatchRequest{}))
		if err != nil || !stream.Receive() {
			t.Fatalf("%s: %v", name, errors.Join(err, stream.Err()))
		}
		full := 0
		await.True(t, name+": he is too far behind", func() (dropped bool) {
			err := c.ledger.Look("", func(all func(func(*circuitsv1.Record) bool)) {
				full++
				for r := range all {
					for watcher := range c.book.watchers {
						for len(watcher.changes) < behind {
							full = 0 // he takes some still: the buffers on the way to him are not full
							c.book.tell(r)
						}
					}
					if full >= 20 { // once is not enough: he may take one in this moment
						c.book.tell(r)
					}
				}
				dropped = len(c.book.watchers) == 0
			})
			return err == nil && dropped
		})
		await.True(t, name+": nobody serves him any more", func() bool { return open.Load() == 0 })
		cancel()
		client.CloseIdleConnections()
	}
}

// An id that is no key is no circuit's.
func TestALongIDIsNobodys(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	if _, err := c.ledger.Find(t.Context(), strings.Repeat("x", 3<<20)); !errors.Is(err, ledger.ErrNoCircuit) {
		t.Errorf("3 MiB of id: %v", err)
	}
}
