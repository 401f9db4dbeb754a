package rpc

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/identity/v1/identityv1connect"
)

// patientPort reads bodies behind a gate that knows who says that it is ann.
func patientPort(t *testing.T, patience time.Duration) string {
	t.Helper()
	gate := Gate{Who: func(r *http.Request) (rights.Caller, error) {
		if r.Header.Get("Authorization") == "ann" {
			return rights.Caller{Name: "ann", Role: rights.Admin, Credential: "c"}, nil
		}
		return rights.Anonymous, nil
	}}
	reads := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusRequestTimeout)
			return
		}
		fmt.Fprintf(w, "%s", raw)
	})
	s := httptest.NewServer(Patient{patience}.Wrap(gate.Wrap(nil, reads)))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// partly sends a request of which the last octet of the body is missing, and returns all that comes until the port
// closes, and how to send on.
func partly(t *testing.T, address, procedure, as string) (net.Conn, chan string) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: %s\r\nContent-Length: 3\r\n\r\nab", procedure, as)
	all := make(chan string, 1)
	go func() { raw, _ := io.ReadAll(c); all <- string(raw) }()
	return c, all
}

// A header that comes in two parts, half a minute apart and split within a line, is of a slow client, not nonsense.
func TestALateHeaderIsNoBadRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connections := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		server := Server(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "served") }))
		go server.Serve(connections)
		defer server.Close()
		c, err := connections.dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		answer := make(chan string, 1)
		go func() { raw, _ := io.ReadAll(c); answer <- string(raw) }()
		fmt.Fprint(c, "GET /millrace.identity")
		time.Sleep(30 * time.Second) // of synctest's clock
		fmt.Fprint(c, " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		if got := <-answer; !strings.HasPrefix(got, "HTTP/1.1 200") {
			t.Errorf("%q, want 200", got)
		}
	})
}

// A request whose body does not come ends: refused, open to all, and of a known caller.
func TestBodiesThatDoNotComeEnd(t *testing.T) {
	address := patientPort(t, 50*time.Millisecond)
	for name, tt := range map[string]struct{ procedure, as, want string }{
		"refused":          {reads, "", "401"},
		"a stream":         {flowv1connect.FlowCollectorServiceImportProcedure, "", "401"},
		"an open call":     {identityv1connect.IdentityServiceLoginProcedure, "", "408"},
		"a known caller's": {reads, "ann", "408"},
	} {
		_, all := partly(t, address, tt.procedure, tt.as)
		if got := await.Value(t, name+" ends", all); !strings.HasPrefix(got, "HTTP/1.1 "+tt.want) {
			t.Errorf("%s: %q, want %s", name, got, tt.want)
		}
	}
}

// A known sender of a stream may pause: longer than others may take, its stream is there, and takes the rest.
func TestSendersOfStreamsMayPause(t *testing.T) {
	address := patientPort(t, 50*time.Millisecond)
	c, all := partly(t, address, flowv1connect.FlowCollectorServiceImportProcedure, "ann")
	_, other := partly(t, address, reads, "ann") // begins later, and ends by its deadline
	await.Value(t, "another body ends", other)
	if _, err := io.WriteString(c, "c"); err != nil {
		t.Fatal(err)
	}
	if got := await.Value(t, "the stream ends", all); !strings.HasSuffix(got, "abc") {
		t.Errorf("the stream: %q", got)
	}
}

// A body that is whole leaves no deadline: a call may take longer than its body.
func TestCallsMayTakeLongerThanTheirBodies(t *testing.T) {
	ended := make(chan error, 1)
	s := httptest.NewServer(Patient{20 * time.Millisecond}.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		select {
		case <-r.Context().Done():
			ended <- r.Context().Err()
		case <-time.After(200 * time.Millisecond):
			ended <- nil
		}
	})))
	defer s.Close()
	answer, err := http.Post(s.URL, "text/plain", strings.NewReader("abc"))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if err := await.Value(t, "the call ends", ended); err != nil {
		t.Errorf("the caller's context ended: %v", err)
	}
}

// Of a request with two lengths, what follows on its connection is a part of it to a proxy that obeyed the other one.
func TestNothingFollowsARequestInChunks(t *testing.T) {
	c, err := net.Dial("tcp", patientPort(t, time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", reads)
	fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	all := make(chan string, 1)
	go func() { raw, _ := io.ReadAll(c); all <- string(raw) }()
	if got := await.Value(t, "the connection ends", all); strings.Count(got, "HTTP/1.1 ") != 1 {
		t.Errorf("%q, want one answer", got)
	}
}
