package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/rpc"
)

// answersWithin is how long a replica may take to say that it runs, before the next one is asked.
const answersWithin = 5 * time.Second

// replicas sends requests for the first of several servers to the first of them that answers. A request is sent once:
// what was sent to one that died may have been done, and only the caller knows whether it can be repeated.
type replicas struct {
	servers []string

	mu sync.Mutex
	// chosen is the one that answered; empty: the next request looks for one.
	chosen string
}

func newReplicas(servers []string) *replicas {
	r := &replicas{servers: servers}
	if len(servers) == 1 {
		r.chosen = servers[0]
	}
	return r
}

// RoundTrip implements http.RoundTripper.
func (r *replicas) RoundTrip(req *http.Request) (*http.Response, error) {
	to, err := r.choose(req.Context())
	if err != nil {
		return nil, err
	}
	if to != r.servers[0] {
		if req, err = rpc.Moved(req, r.servers[0], to); err != nil {
			return nil, fmt.Errorf("--server: %w", err)
		}
	}
	answer, err := reachable{to}.RoundTrip(req)
	if err != nil {
		r.failed(to)
	}
	return answer, err
}

// failed has the next request look for a server again.
func (r *replicas) failed(server string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.servers) > 1 && r.chosen == server {
		r.chosen = ""
	}
}

// choose asks one after the other.
func (r *replicas) choose(ctx context.Context) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.chosen != "" {
		return r.chosen, nil
	}
	var errs []error
	for _, server := range r.servers {
		err := runs(ctx, server)
		if err == nil {
			r.chosen = server
			return server, nil
		}
		errs = append(errs, err)
	}
	return "", fmt.Errorf("no replica of the control plane answers: %w", errors.Join(errs...))
}

// runs asks a server whether it runs.
func runs(ctx context.Context, server string) error {
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	return rpc.Runs(ctx, http.DefaultTransport, server)
}
