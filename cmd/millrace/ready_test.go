package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

func TestReadySaysWhyNot(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" || asked.Add(1) == 1 {
			http.Error(w, "etcd does not answer", http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	ask := func(extra ...string) error {
		cmd := root()
		cmd.SetArgs(append([]string{"ready", "--server", server.URL}, extra...))
		cmd.SetOut(io.Discard)
		return cmd.ExecuteContext(t.Context())
	}
	if err := ask(); err == nil || !strings.Contains(err.Error(), "is not ready: etcd does not answer") {
		t.Errorf("the first answer is %v", err)
	}
	if err := ask(); err != nil {
		t.Errorf("the second answer is %v", err)
	}
	asked.Store(0)
	if err := ask("--wait", "1m"); err != nil || asked.Load() != 2 {
		t.Errorf("%v after %d questions, want ready after 2", err, asked.Load())
	}
}

// Who presses Ctrl-C does not want to wait for the rest of the time.
func TestReadyEndsWithItsUser(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		interrupt()
		http.Error(w, "etcd does not answer", http.StatusServiceUnavailable)
	}))
	defer server.Close()
	cmd := root()
	cmd.SetArgs([]string{"ready", "--server", server.URL, "--wait", "1h"})
	if err := cmd.ExecuteContext(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was interrupted", err)
	}
}
