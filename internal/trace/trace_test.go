package trace_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/testkit/otlp"
	"github.com/millrace/millrace/internal/trace"
)

// TestWithoutTracesNothingIsAllocated: a program that sends none pays nothing, on the path of flows too.
func TestWithoutTracesNothingIsAllocated(t *testing.T) {
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() {
		in, span := trace.Flows(ctx, "batch")
		in, child := trace.Child(in, "step")
		child.Set("key", "value")
		child.End(nil)
		span.End(nil)
		if trace.Parent(in) != "" || trace.Resume(in, "") != in {
			t.Error("a trace")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkOff(b *testing.B) {
	ctx := b.Context()
	for b.Loop() {
		in, span := trace.Flows(ctx, "batch")
		_ = trace.Parent(in)
		span.End(nil)
	}
}

// TestOneTraceOverHTTP: what a handler calls is in the trace of its request.
func TestOneTraceOverHTTP(t *testing.T) {
	collector := otlp.Start(t)
	stop, err := trace.Start(t.Context(), trace.Configuration{Endpoint: collector.URL, Ratio: 1}, "millrace", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	far := httptest.NewServer(trace.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
	}), func(*http.Request) bool { return false }))
	defer far.Close()
	client := &http.Client{Transport: trace.Transport(http.DefaultTransport)}
	near := httptest.NewServer(trace.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q, err := http.NewRequestWithContext(r.Context(), http.MethodPost, far.URL+"/far", nil)
		if err == nil {
			var answer *http.Response
			if answer, err = client.Do(q); err == nil {
				answer.Body.Close()
			}
		}
		if err != nil {
			t.Error(err)
		}
	}), func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "near") }))
	defer near.Close()
	for _, path := range []string{"/near", "/asks"} { // the second begins no trace
		answer, err := http.Get(near.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
	}
	if err := stop(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	if got := collector.Tree(); got != "serve /near\n  call /far !\n    serve /far !\n" {
		t.Errorf("spans:\n%s", got)
	}
}

func TestATraceGoesOnFromARecord(t *testing.T) {
	collector := otlp.Start(t)
	stop, err := trace.Start(t.Context(), trace.Configuration{Endpoint: collector.URL, Ratio: 1, FlowRatio: 0}, "millrace", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, approval := trace.Root(t.Context(), "approve")
	record := trace.Parent(ctx)
	approval.End(nil)
	later, commit := trace.Child(trace.Resume(context.Background(), record), "commit")
	commit.End(errors.New("refused"))
	if one, _ := trace.IDs(ctx); one == "" || !strings.Contains(trace.Parent(later), one) {
		t.Errorf("the commit is in %s, the approval in %s", trace.Parent(later), one)
	}
	if _, none := trace.Child(context.Background(), "no trace"); none.Sent() {
		t.Error("a child without a parent")
	}
	if _, none := trace.Flows(context.Background(), "batch"); none.Sent() {
		t.Error("a batch that flow_ratio leaves out")
	}
	if err := stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := collector.Tree(); got != "approve\n  commit !\n" {
		t.Errorf("spans:\n%s", got)
	}
}

func TestEndpointsThatNobodyCouldReach(t *testing.T) {
	for endpoint, ok := range map[string]bool{"": true, "http://127.0.0.1:4318": true, "127.0.0.1:4318": false, "grpc://a": false} {
		c := trace.DefaultConfiguration()
		c.Endpoint = endpoint
		if err := c.Validate(); (err == nil) != ok {
			t.Errorf("%q: %v", endpoint, err)
		}
	}
}
