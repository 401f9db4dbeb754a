package rpc

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/faults"
)

// A stream ends with its server, and its owner finds the next one.
func TestStreamsEndWithTheirServer(t *testing.T) {
	first, second := started(t), started(t)
	streams := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		fmt.Fprint(w, "first message")
		w.(http.Flusher).Flush()
		<-q.Context().Done()
	})
	first.does.Store(&streams)
	c := newCalling(nil, first.URL, second.URL)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.base+reads, strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	if _, err := io.ReadFull(stream.Body, make([]byte, len("first message"))); err != nil {
		t.Fatal(err)
	}
	first.Listener.Close()
	first.CloseClientConnections()
	if _, err := io.ReadAll(stream.Body); err == nil {
		t.Error("the stream ended without an error")
	}
	if _, err := c.call(t.Context(), reads, "", false); err != nil || second.calls.Load() != 1 {
		t.Errorf("%d calls at the second: %v", second.calls.Load(), err)
	}
}

// A host that is cut off after a connection was made ends its streams and calls, and the calls go on: what changes
// something does not.
func TestAHostThatIsCutOffWithOpenConnections(t *testing.T) {
	first, second := started(t), started(t)
	link := faults.NewLink(t, "127.0.0.1:0", first.Listener.Addr().String())
	streams := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.(http.Flusher).Flush()
		<-q.Context().Done()
	})
	first.does.Store(&streams)
	c := newCalling(nil, "http://"+link.Address(), second.URL)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.base+reads, strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	link.Set(faults.Condition{StallForth: true, StallBack: true})
	answers := make(chan error, 2)
	for _, procedure := range []string{reads, changes} {
		go func() { _, err := c.call(t.Context(), procedure, "", false); answers <- err }()
	}
	if _, err := io.ReadAll(stream.Body); err == nil {
		t.Error("the stream ended without an error")
	}
	failed := 0
	for range cap(answers) {
		if await.Value(t, "a call ends", answers) != nil {
			failed++
		}
	}
	if failed > 1 || second.calls.Load() == 0 {
		t.Errorf("%d calls failed, %d went to the second", failed, second.calls.Load())
	}
	if _, err := c.call(t.Context(), changes, "", false); err != nil {
		t.Errorf("a call after the failure: %v", err)
	}
}

// A sender that has more to say learns that its server died, and its call ends.
func TestSendersEndWithTheirServer(t *testing.T) {
	first, second := started(t), started(t)
	c := newCalling(nil, first.URL, second.URL)
	out, in := io.Pipe()
	arrived := make(chan struct{})
	first.Config.Handler = http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		if q.URL.Path == reads {
			_, _ = io.ReadFull(q.Body, make([]byte, 1))
			close(arrived)
			<-q.Context().Done()
		}
	})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.base+reads, out)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { _, err := c.Do(r); ended <- err }()
	if _, err := in.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	await.Value(t, "the first message arrives", arrived)
	first.CloseClientConnections()
	if err := await.Value(t, "the call ends", ended); err == nil || second.calls.Load() != 0 {
		t.Errorf("%d calls at the second: %v", second.calls.Load(), err)
	}
	if _, err := in.Write([]byte("y")); err == nil {
		t.Error("the sender was not told")
	}
}

// A stream whose sender waits for the answer before it says anything goes on to the next address.
func TestSendersThatWait(t *testing.T) {
	second := started(t)
	second.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.(http.Flusher).Flush()
		_, _ = io.Copy(w, q.Body)
	})
	c := newCalling(nil, gone(t), second.URL)
	out, in := io.Pipe()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.base+changes, out)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	go func() { _, _ = in.Write([]byte("late")); in.Close() }()
	if said, err := io.ReadAll(answer.Body); err != nil || string(said) != "late" {
		t.Errorf("%q %v", said, err)
	}
}
