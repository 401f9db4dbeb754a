package main

import (
	"github.com/millrace/millrace/internal/logins"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	testports "github.com/millrace/millrace/internal/testkit/ports"
)

// replica answers with its name, and counts how often it is asked whether it runs.
func replica(t *testing.T, name string, health int) (*httptest.Server, *atomic.Int32) {
	t.Helper()
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" {
			asked.Add(1)
			w.WriteHeader(health)
			return
		}
		_, _ = io.WriteString(w, name+" "+r.Host+r.URL.Path+"?"+r.URL.RawQuery+" "+r.Header.Get("Authorization"))
	}))
	t.Cleanup(s.Close)
	return s, &asked
}

func ask(t *testing.T, c *http.Client, base string) (string, error) {
	t.Helper()
	answer, err := c.Get(base + "/a/b?c=d")
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw), nil
}

// A command goes to the first replica that runs, stays there, and goes on to another one when that is gone.
func TestACommandGoesToAReplicaThatRuns(t *testing.T) {
	t.Setenv("MILLRACE_TOKEN", "mrt_of_tests")
	ill, _ := replica(t, "ill", http.StatusServiceUnavailable)
	first, asked := replica(t, "first", http.StatusOK)
	second, _ := replica(t, "second", http.StatusOK)
	servers := serversOf(strings.Join([]string{"http://" + testports.Loopback(t), ill.URL, first.URL + "/", " " + second.URL}, ","))
	if len(servers) != 4 || servers[2] != first.URL || servers[3] != second.URL {
		t.Fatalf("%q", servers)
	}
	c := &http.Client{Transport: logins.Transport{Servers: servers, Next: newReplicas(servers)}}
	for range 3 {
		if got, err := ask(t, c, servers[0]); err != nil || got != "first "+strings.TrimPrefix(first.URL, "http://")+"/a/b?c=d Bearer mrt_of_tests" {
			t.Fatalf("%q, %v", got, err)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("it was asked %d times whether it runs", n)
	}
	first.Close()
	if got, err := ask(t, c, servers[0]); err == nil {
		t.Errorf("a request to one that is gone was sent again: %q", got)
	}
	if got, err := ask(t, c, servers[0]); err != nil || !strings.HasPrefix(got, "second ") {
		t.Errorf("the next request: %q, %v", got, err)
	}
	second.Close()
	_, _ = ask(t, c, servers[0]) // which finds out
	_, err := ask(t, c, servers[0])
	if err == nil || !strings.Contains(err.Error(), "no replica of the control plane answers") || !strings.Contains(err.Error(), second.URL) || !strings.Contains(err.Error(), "503") {
		t.Errorf("nobody is left: %v", err)
	}
}

// One server is not asked first, and an error names one that is away.
func TestOneServerIsAskedNothingBefore(t *testing.T) {
	s, asked := replica(t, "only", http.StatusServiceUnavailable)
	c := &http.Client{Transport: newReplicas(serversOf(s.URL))}
	if got, err := ask(t, c, s.URL); err != nil || !strings.HasPrefix(got, "only ") || asked.Load() != 0 {
		t.Errorf("%q, %v, asked %d times", got, err, asked.Load())
	}
	if got := serversOf(" , "); !slices.Equal(got, []string{defaultServer}) {
		t.Errorf("%q", got)
	}
}
