package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/logging"
	"github.com/millrace/millrace/internal/monitor"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
)

// running is a process that hosts the twin, which needs no other part.
func running(t *testing.T) (*process, <-chan error) {
	t.Helper()
	return runningUntil(t.Context(), t, 0)
}

// runningUntil is running until ctx ends, after which it drains.
func runningUntil(ctx context.Context, t *testing.T, drain time.Duration) (*process, <-chan error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := serving(t, "twin")
	p.listener, p.failed, p.drain = l, make(chan error, 1), drain
	if err := p.assemble(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.run(ctx) }()
	await.True(t, "the port answers", func() bool {
		r, err := http.Get("http://" + l.Addr().String() + "/healthz")
		if err == nil {
			r.Body.Close()
		}
		return err == nil
	})
	return p, ended
}

// A process whose port or etcd has ended by itself ends with an error, so that its supervisor restarts it.
func TestAProcessEndsWithItsParts(t *testing.T) {
	p, ended := running(t)
	p.listener.Close()
	if err := await.Value(t, "the process without its port ends", ended); err == nil || !strings.Contains(err.Error(), "API stopped serving") {
		t.Errorf("without its port: %v", err)
	}
	p, ended = running(t)
	failed := make(chan error, 1)
	p.watch(failed)
	failed <- context.DeadlineExceeded
	if err := await.Value(t, "the process without its etcd ends", ended); err == nil || !strings.Contains(err.Error(), "deadline") {
		t.Errorf("without etcd: %v", err)
	}
}

// A process that drains says so where balancers ask, and answers all the same.
func TestAProcessThatDrainsIsNotReadyAndAnswers(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	p, ended := runningUntil(ctx, t, 24*time.Hour)
	asked := func(path string) (int, string) {
		r, err := http.Get("http://" + p.listener.Addr().String() + path)
		if err != nil {
			return 0, err.Error()
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		return r.StatusCode, fmt.Sprint(string(text), err)
	}
	if code, text := asked("/readyz"); code != http.StatusOK {
		t.Fatalf("before it drains it is not ready: %d %s", code, text)
	}
	stop()
	await.True(t, "it is not ready", func() bool {
		code, text := asked("/readyz")
		return code == http.StatusServiceUnavailable && strings.Contains(text, "the process stops")
	})
	if code, text := asked("/healthz"); code != http.StatusOK {
		t.Errorf("while it drains it does not answer: %d %s", code, text)
	}
	p.fail(context.DeadlineExceeded)
	if err := await.Value(t, "a part that ends does not wait for the drain", ended); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it ended with %v", err)
	}
}

// TestTheLevelOfTheLogIsSet: for a while, at the process's port, by a client on the same host.
func TestTheLevelOfTheLogIsSet(t *testing.T) {
	p, _ := running(t)
	page := "http://" + p.listener.Addr().String() + logging.Path
	for _, values := range []url.Values{nil, {"level": {"debug"}}} {
		if debug := p.log.Enabled(t.Context(), slog.LevelDebug); debug {
			t.Error("it begins with debug")
		}
		r, err := http.Get(page)
		if values != nil {
			r, err = http.PostForm(page, values)
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || r.StatusCode != http.StatusOK || !strings.HasPrefix(string(text), cmp.Or(values.Get("level"), "info")) {
			t.Errorf("%v: %s %s %v", values, r.Status, text, err)
		}
	}
	if !p.log.Enabled(t.Context(), slog.LevelDebug) {
		t.Error("debug is not logged")
	}
}

// TestReady waits on nothing: the bus is full once its only group holds all it may, and a publisher waits.
func TestReady(t *testing.T) {
	e := state.NewEmbedded(filepath.Join(t.TempDir(), "etcd"), state.UnsafeNoFsync)
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer e.Stop(context.Background())
	p := serving(t, "push", "policy")
	p.state = e.Store()
	want := func(status int, says string) {
		t.Helper()
		w := httptest.NewRecorder()
		monitor.Dependencies(p.dependencies).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		if w.Code != status || !strings.Contains(w.Body.String(), says) {
			t.Errorf("%d %s, want %d with %q", w.Code, w.Body, status, says)
		}
	}
	want(http.StatusOK, "ok")
	ctx, leave := context.WithCancel(t.Context())
	if err := p.bus.Subscribe(ctx, bus.TopicEvents, "stuck", func(ctx context.Context, _ bus.Message) error {
		<-ctx.Done()
		return ctx.Err()
	}); err != nil {
		t.Fatal(err)
	}
	published := make(chan error, 1)
	go func() {
		var err error
		for large := (&eventv1.Event{Text: strings.Repeat("x", 3<<20)}); err == nil; {
			err = p.bus.Publish(ctx, bus.TopicEvents, "key", large)
		}
		published <- err
	}()
	await.True(t, "a publisher waits", func() bool { return p.ready(t.Context()) != nil })
	want(http.StatusServiceUnavailable, "the bus is full")
	leave()
	await.Value(t, "the publisher gives up", published)
	want(http.StatusOK, "ok")
	if err := e.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(http.StatusServiceUnavailable, "etcd does not answer")
}
