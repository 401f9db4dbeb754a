package nsi

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/uuid"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/ports"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits"
	"github.com/millrace/millrace/services/nsi/soap"
)

// requester keeps the callbacks that it gets, but for those that it refuses.
type requester struct {
	t      *testing.T
	url    string
	port   int
	server *httptest.Server

	mu     sync.Mutex
	refuse int
	// got are operation and correlation id.
	got []string
}

func newRequester(t *testing.T) *requester {
	r := &requester{t: t, port: ports.Reserve(t)}
	r.open()
	t.Cleanup(func() { r.server.Close() })
	r.url = r.server.URL + "/nsi/"
	return r
}

func (r *requester) open() {
	r.t.Helper()
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", r.port))
	must(r.t, err)
	r.server = &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(r.take)}}
	r.server.Start()
}

// accept refuses nothing from now on. What came before is refused first, however late it is read.
func (r *requester) accept() {
	r.t.Helper()
	r.server.Close()
	r.mu.Lock()
	r.refuse = 0
	r.mu.Unlock()
	r.open()
}

func (r *requester) take(w http.ResponseWriter, q *http.Request) {
	raw, err := io.ReadAll(q.Body)
	if err != nil {
		return // its sender has ended
	}
	h, m, err := soap.Read(raw)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.t.Errorf("%v: %s", err, raw)
	}
	if r.refuse > 0 {
		r.refuse--
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	r.got = append(r.got, m.Operation+" "+h.CorrelationID)
}

func (r *requester) told(what string) {
	r.t.Helper()
	await.True(r.t, what, func() bool { return r.times(what) > 0 })
}

func (r *requester) times(what string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.got {
		if one == what {
			n++
		}
	}
	return n
}

// send is a request, and what it is answered with.
func (r *requester) send(c *Component, correlation string, body soap.Element) (int, string) {
	r.t.Helper()
	h := soap.Header{ProtocolVersion: soap.ToProvider, CorrelationID: correlation, RequesterNSA: theirNSA, ProviderNSA: ourNSA, ReplyTo: r.url}
	answer, err := http.Post("http://"+c.Address()+soapPath, "text/xml", bytes.NewReader(soap.Envelope(h, body.Bytes()))) //nolint:noctx // a test
	must(r.t, err)
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	must(r.t, err)
	return answer.StatusCode, string(raw)
}

func newID() string { return "urn:uuid:" + uuid.NewString() }

func reserve(source, destination string) soap.Element {
	return soap.E("t:reserve", soap.E("criteria", soap.E("schedule"), soap.E("p:p2ps", soap.T("capacity", "100"), soap.T("directionality", "Bidirectional"),
		soap.T("sourceSTP", ourNet+":"+source), soap.T("destSTP", ourNet+":"+destination))))
}

func about(operation, connection string) soap.Element {
	return soap.E("t:"+operation, soap.T("connectionId", connection))
}

// connection is the id in an answer.
func (r *requester) connection(status int, answer string) string {
	r.t.Helper()
	_, rest, _ := strings.Cut(answer, "<connectionId>")
	id, _, found := strings.Cut(rest, "</connectionId>")
	if status != http.StatusOK || !found {
		r.t.Fatalf("%d: %s", status, answer)
	}
	return id
}

// What is acknowledged and not done when a replica ends is done by another one, and reported; the same earlier message
// gets the same answer.
func TestAnotherReplicaGoesOn(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), newRequester(t)
	w.mayCall(r.url)
	r.refuse = 1 << 30
	c, err := New(w.cfg, Dependencies{State: w.store, Circuits: w.circuits, Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	must(t, c.Start(t.Context()))
	first := newID()
	id := r.connection(r.send(c, first, reserve("west?vlan=1790", "east")))
	must(t, c.Stop(context.Background()))
	r.accept()
	again := w.start()
	r.told("reserveConfirmed " + first)
	if same := r.connection(r.send(again, first, reserve("west?vlan=1790", "east"))); same != id {
		t.Errorf("the same reserve gets %s after %s", same, id)
	}
	list, err := w.circuits.List(t.Context(), connect.NewRequest(&circuitsv1.ListRequest{Project: "nsi"}))
	must(t, err)
	if n := len(list.Msg.GetCircuits()); n != 1 {
		t.Errorf("%d circuits", n)
	}
	if n := r.times("reserveConfirmed " + first); n != 1 {
		t.Errorf("confirmed %d times", n)
	}
}

// Two replicas do the work once. A connection between prefixes is two circuits, which are committed and given up
// together.
func TestTwoReplicasAndTwoCircuits(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), newRequester(t)
	w.mayCall(r.url)
	one, two := w.start(), w.start()
	id := r.connection(r.send(one, newID(), reserve("lab", "site")))
	for i, operation := range []string{"reserveCommit", "provision", "release", "terminate"} {
		c := []*Component{two, one}[i%2]
		correlation := newID()
		await.True(t, operation+" is taken", func() bool {
			status, _ := r.send(c, correlation, about(operation, id))
			return status == http.StatusOK
		})
		r.told(operation + "Confirmed " + correlation)
		list, err := w.circuits.List(t.Context(), connect.NewRequest(&circuitsv1.ListRequest{Project: "nsi"}))
		must(t, err)
		if len(list.Msg.GetCircuits()) != 2 {
			t.Fatalf("%d circuits", len(list.Msg.GetCircuits()))
		}
		for _, circuit := range list.Msg.GetCircuits() {
			over := circuit.GetState() == circuitsv1.State_STATE_CANCELLED
			if circuit.GetDeactivated() != (operation != "provision") || over != (operation == "terminate") {
				t.Errorf("after %s: %s, deactivated %v", operation, circuit.GetState(), circuit.GetDeactivated())
			}
		}
	}
}

// A hold that is not committed ends: that is reported, a commit is refused, an abort is accepted.
func TestAHoldIsOver(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t, func(c *circuits.Configuration) { c.Hold = time.Second }), newRequester(t)
	w.mayCall(r.url)
	c := w.start()
	first := newID()
	id := r.connection(r.send(c, first, reserve("west", "east")))
	r.told("reserveTimeout " + first)
	if status, answer := r.send(c, newID(), about("reserveCommit", id)); status != http.StatusInternalServerError || !strings.Contains(answer, "<errorId>00201<") {
		t.Errorf("a commit: %d, %s", status, answer)
	}
	abort := newID()
	if status, answer := r.send(c, abort, about("reserveAbort", id)); status != http.StatusOK {
		t.Errorf("an abort: %d, %s", status, answer)
	}
	r.told("reserveAbortConfirmed " + abort)
}

// Without TLS the documents are there, and name what is configured.
func TestDocuments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.start()
	for path, want := range map[string][]string{
		discoveryPath: {"application/vnd.ogf.nsi.nsa.v1+xml", ourNSA, "<networkId>" + ourNet, "http://127.0.0.1:8450" + soapPath},
		topologyPath:  {"application/vnd.ogf.nsi.topology.v2+xml", ourNet + ":west", "1780-1799", ourNet + ":lab:in"},
	} {
		answer, err := http.Get("http://" + c.Address() + path) //nolint:noctx // a test
		must(t, err)
		raw, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		must(t, err)
		for _, part := range want {
			if !strings.Contains(answer.Header.Get("Content-Type")+string(raw), part) {
				t.Errorf("%s lacks %s:\n%s", path, part, raw)
			}
		}
	}
}
