package dashboard

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/rpc"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
	"github.com/millrace/millrace/proto/gen/millrace/event/v1/eventv1connect"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
)

// changes is a ChangeService that remembers who approved.
type changes struct {
	pushv1connect.UnimplementedChangeServiceHandler
	approved []string
}

func (c *changes) Approve(_ context.Context, r *connect.Request[pushv1.ApproveRequest]) (*connect.Response[pushv1.ApproveResponse], error) {
	c.approved = append(c.approved, r.Msg.GetBy())
	return connect.NewResponse(&pushv1.ApproveResponse{Change: &pushv1.ChangeSet{Id: r.Msg.GetId(), State: pushv1.State_STATE_APPROVED}}), nil
}

type rig struct {
	*Component
	bus     *bus.Memory
	changes *changes
	url     string
}

// start runs a dashboard on a free port with a real bus and one service behind it.
func start(t *testing.T, ln net.Listener) *rig {
	t.Helper()
	r := &rig{bus: bus.NewMemory(), changes: &changes{}}
	path, handler := pushv1connect.NewChangeServiceHandler(r.changes, rpc.Bounded(rpc.MaxRequest))
	registry := prometheus.NewRegistry()
	cfg := DefaultConfiguration()
	cfg.Listen = "127.0.0.1:0"
	c, err := New(cfg, Dependencies{
		Handlers: []Mount{{Path: path, Handler: handler}}, Bus: r.bus, Listener: ln,
		Log: slog.New(slog.DiscardHandler), Registerer: registry, Gatherer: registry,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(context.Background()); err != nil {
			t.Error("stop:", err)
		}
		r.bus.Close()
	})
	r.Component, r.url = c, "http://"+c.Addr().String()
	return r
}

func (r *rig) say(t *testing.T, text string) {
	events.NewPublisher(r.bus, slog.New(slog.DiscardHandler)).Publish(t.Context(), events.PairFound, "subject", text)
}

// sayAndWait returns once the dashboard has taken the event from the bus, which delivers in its own time.
func (r *rig) sayAndWait(t *testing.T, code string) {
	t.Helper()
	_, taken := r.feed.watch(0)
	defer r.feed.leave(taken)
	r.say(t, code)
	<-taken.events
}

func http2Client() *http.Client {
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: &http.Transport{Protocols: p}}
}

func TestOnePortSpeaksEveryProtocol(t *testing.T) {
	r := start(t, nil)
	for name, client := range map[string]pushv1connect.ChangeServiceClient{
		"Connect over HTTP/1.1": pushv1connect.NewChangeServiceClient(http.DefaultClient, r.url),
		"Connect as JSON":       pushv1connect.NewChangeServiceClient(http.DefaultClient, r.url, connect.WithProtoJSON()),
		"Connect over HTTP/2":   pushv1connect.NewChangeServiceClient(http2Client(), r.url),
		"gRPC":                  pushv1connect.NewChangeServiceClient(http2Client(), r.url, connect.WithGRPC()),
		"gRPC-Web":              pushv1connect.NewChangeServiceClient(http.DefaultClient, r.url, connect.WithGRPCWeb()),
	} {
		got, err := client.Approve(t.Context(), connect.NewRequest(&pushv1.ApproveRequest{Id: "c1", By: name}))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got.Msg.GetChange().GetId() != "c1" {
			t.Errorf("%s: answer is about %q", name, got.Msg.GetChange().GetId())
		}
	}
}

// A form on a foreign page can only send these types without asking first; no
// API takes them, so even a browser that hides the origin cannot approve.
func TestFormPostsChangeNothing(t *testing.T) {
	r := start(t, nil)
	for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", r.url+pushv1connect.ChangeServiceApproveProcedure, strings.NewReader(`{"id":"c1"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", kind)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusUnsupportedMediaType {
			t.Errorf("POST as %q: status %d, want 415", kind, resp.StatusCode)
		}
	}
	if diff := cmp.Diff(r.changes.approved, []string(nil)); diff != "" {
		t.Errorf("approved (-got +want):\n%s", diff)
	}
}

func TestPlainPages(t *testing.T) {
	r := start(t, nil)
	for path, want := range map[string]string{
		"/healthz": "ok\n",
		"/metrics": "millrace_services_dashboard_watchers 0",
		"/":        "illrace",
	} {
		resp, err := http.Get(r.url + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !strings.Contains(string(body), want) {
			t.Errorf("GET %s: got %q (%v), want it to contain %q", path, body, err, want)
		}
		if got := resp.Header.Get("Content-Security-Policy"); got != contentSecurityPolicy {
			t.Errorf("GET %s: content security policy is %q", path, got)
		}
	}
}

// watch opens a stream and returns once the server has it.
func watch(t *testing.T, url string, recent uint32) *connect.ServerStreamForClient[eventv1.WatchResponse] {
	t.Helper()
	client := eventv1connect.NewEventServiceClient(http.DefaultClient, url)
	stream, err := client.Watch(t.Context(), connect.NewRequest(&eventv1.WatchRequest{Recent: recent}))
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

func next(t *testing.T, s *connect.ServerStreamForClient[eventv1.WatchResponse]) string {
	t.Helper()
	if !s.Receive() {
		t.Fatal("stream ended:", s.Err())
	}
	return s.Msg().GetEvent().GetText()
}

func TestWatchStartsWithRecentEventsAndGoesOn(t *testing.T) {
	r := start(t, nil)
	first := watch(t, r.url, 0) // opens before anything happened: headers must come at once
	r.say(t, "one")
	r.say(t, "two")
	got := []string{next(t, first), next(t, first)}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	r.sayAndWait(t, "three") // while no stream is open
	again := watch(t, r.url, 2)
	got = append(got, next(t, again), next(t, again))
	r.say(t, "four")
	got = append(got, next(t, again))
	if diff := cmp.Diff(got, []string{"one", "two", "two", "three", "four"}); diff != "" {
		t.Errorf("events over a reconnect (-got +want):\n%s", diff)
	}
}

func TestStopEndsOpenStreams(t *testing.T) {
	r := start(t, nil)
	s := watch(t, r.url, 0)
	if err := r.Stop(t.Context()); err != nil {
		t.Fatal("stop waited for an open stream:", err)
	}
	if s.Receive() || connect.CodeOf(s.Err()) != connect.CodeUnavailable {
		t.Errorf("stream ended with %v, want code unavailable so that readers come back", s.Err())
	}
}

func TestMessagesThatAreNoEventsAreCountedAndDropped(t *testing.T) {
	r := start(t, nil)
	for _, raw := range []string{"", "\xff\xff", "\x0a\x00"} {
		if err := r.take(t.Context(), bus.Message{Value: []byte(raw)}); err != nil {
			t.Errorf("message %q would be redelivered for ever: %v", raw, err)
		}
	}
	if recent, w := r.feed.watch(10); len(recent) != 0 {
		t.Errorf("%d of them became events", len(recent))
	} else {
		r.feed.leave(w)
	}
}
