package cluster

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/program"
)

// whole waits until nothing is left of the fault before: every service answers, every member of etcd has a majority,
// and every partition of Kafka is in sync on all nodes.
func (w *world) whole(t *testing.T) {
	t.Helper()
	for _, h := range w.hosts {
		for _, name := range services(h.name) {
			w.ready(t, h, name)
		}
		w.hasMajority(t, h)
	}
	w.inSync(t)
}

func (w *world) client(t *testing.T, server string) *tls.Config {
	t.Helper()
	cert, err := tls.LoadX509KeyPair(w.ca.Issue(t, "test-"+server))
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}, RootCAs: w.ca.Pool(), MinVersion: tls.VersionTLS12}
}

func (w *world) hasMajority(t *testing.T, h *host) {
	t.Helper()
	store, err := state.Dial([]string{"https://" + h.address + ":2379"}, state.WithTLS(w.client(t, "etcd")))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	program.Until(t, "etcd on "+h.name+" has a majority", func() (bool, any) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := store.Holder(ctx, "nobody")
		return err == nil, err
	})
}

func (w *world) inSync(t *testing.T) {
	t.Helper()
	admin, err := kadm.NewOptClient(kgo.SeedBrokers(w.bus(t).Brokers...), kgo.DialTLSConfig(w.client(t, "kafka")))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	program.Until(t, "every partition is in sync", func() (bool, any) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		topics, err := admin.ListTopics(ctx)
		if err != nil {
			return false, err
		}
		for name, topic := range topics {
			for _, p := range topic.Partitions {
				if len(p.ISR) != len(p.Replicas) {
					return false, fmt.Sprintf("%s/%d is on %v, in sync on %v", name, p.Partition, p.Replicas, p.ISR)
				}
			}
		}
		return true, nil
	})
}

// moved counts from now until one of the dashboards says that none of the given processes leads or takes part; last is
// what one said last, for a failure.
func (w *world) moved(t *testing.T, away []string) (told chan time.Duration, last *atomic.Value) {
	t.Helper()
	ctx := t.Context()
	told, last = make(chan time.Duration, 2), &atomic.Value{}
	gone, led := map[int]bool{}, w.led(t)
	for _, name := range away {
		gone[w.running[name].Pid()] = true
	}
	begin := time.Now()
	for _, h := range w.hosts[:2] {
		go func() {
			for ctx.Err() == nil {
				all, err := w.replicas(ctx, h)
				if err == nil && without(all, gone, led) {
					told <- time.Since(begin)
					return
				}
				last.Store(fmt.Sprint(all, err))
				time.Sleep(200 * time.Millisecond)
			}
		}()
	}
	return told, last
}

// replicas is what the dashboard of a host says.
func (w *world) replicas(ctx context.Context, of *host) (all []program.Shared, err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url(of, "dashboard")+"/replicas", nil)
	if err != nil {
		return nil, err
	}
	answer, err := w.people.ask(r, of)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return all, json.NewDecoder(answer.Body).Decode(&all)
}

// led are the services that somebody leads: nsi does not run here, and vpn has no policy file to follow.
func (w *world) led(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	program.Until(t, "a dashboard says who leads", func() (bool, any) {
		all, err := w.replicas(t.Context(), w.hosts[0])
		for _, s := range all {
			if s.Leader != "" {
				out[s.Service] = true
			}
		}
		return len(out) > 0, err
	})
	return out
}

// without reports whether everything that was led is led, and no process that is gone leads or takes part.
func without(all []program.Shared, gone map[int]bool, led map[string]bool) bool {
	for _, s := range all {
		if led[s.Service] && s.Leader == "" || gone[program.PIDOf(s.Leader)] {
			return false
		}
		for _, m := range s.Members {
			if gone[program.PIDOf(m)] {
				return false
			}
		}
	}
	return len(all) > 0
}
