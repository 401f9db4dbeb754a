package storm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// crowd is how clients ask, and what they met.
type crowd struct {
	http http.Client
	// cut counts requests whose connection ended without an answer, dead those that found nobody listening, away those
	// that a replica answered with 503.
	cut, dead, away, answered atomic.Int64
}

// answer is what is read of one.
type answer struct {
	status int
	Code   string
	// Circuit is the one that was granted.
	Circuit struct{ ID, State string }
}

// newCrowd makes a connection for each request: net/http would send one again by itself on a connection that was kept.
func newCrowd() crowd {
	return crowd{http: http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}}
}

// ask asks one replica once.
func (c *crowd) ask(ctx context.Context, method, url, key string, body any) (answer, error) {
	var a answer
	raw, err := json.Marshal(body)
	if err != nil {
		return a, err
	}
	q, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(raw))
	if err != nil {
		return a, err
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Idempotency-Key", key)
	r, err := c.http.Do(q)
	if err != nil {
		return a, err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return a, err
	}
	a.status = r.StatusCode
	if err := json.Unmarshal(text, &a); err != nil {
		return a, fmt.Errorf("read %.200q: %w", text, err)
	}
	return a, nil
}

// insist asks one replica after the other until one answers.
func (c *crowd) insist(ctx context.Context, cluster *cluster, first int, method, path, key string, body any) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for n := first; ; n++ {
		a, err := c.ask(ctx, method, cluster.replica(n)+path, key, body)
		switch {
		case errors.Is(err, syscall.ECONNREFUSED):
			c.dead.Add(1)
		case err != nil:
			c.cut.Add(1)
		case a.status == http.StatusServiceUnavailable:
			c.away.Add(1)
		default:
			return a, nil
		}
		select {
		case <-ctx.Done():
			return a, fmt.Errorf("%s %s is not answered: %w", method, path, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// insistAt asks one replica until it answers.
func (c *crowd) insistAt(ctx context.Context, url string) (a answer, err error) {
	err = until(ctx, url+" is answered", func() (bool, error) {
		var failed error
		a, failed = c.ask(ctx, http.MethodGet, url, "", nil)
		return failed == nil && a.status != http.StatusServiceUnavailable, nil
	})
	return a, err
}

// outcome is what came of one request, for each client that made it.
type outcome struct {
	answers []answer
	// released is the state after the client has given its circuit up.
	released string
	err      error
}

// serve is one request from the first try to its outcome. Twins make it twice at once.
func (r *run) serve(ctx context.Context, n int) outcome {
	q, o := r.requests[n], outcome{}
	o.answers = make([]answer, q.twins)
	errs := make([]error, q.twins)
	var both sync.WaitGroup
	for i := range q.twins {
		both.Go(func() {
			o.answers[i], errs[i] = r.crowd.insist(ctx, r.cluster, n+i, http.MethodPost, "/v1/circuits", q.key, q.body)
		})
	}
	both.Wait()
	for _, err := range errs {
		if err != nil {
			o.err = err
		}
	}
	if id := o.circuit(); q.release && id != "" && o.err == nil {
		var a answer
		a, o.err = r.crowd.insist(ctx, r.cluster, n, http.MethodPost, "/v1/circuits/"+id+"/release", "", map[string]any{"by": "crowd"})
		o.released = a.Circuit.State
	}
	r.crowd.answered.Add(1)
	return o
}

// circuit is the one that was granted to a client; empty for none.
func (o outcome) circuit() string {
	for _, a := range o.answers {
		if a.status == http.StatusCreated {
			return a.Circuit.ID
		}
	}
	return ""
}

// storm has all requests made, in waves with a kill amid each but the last.
func (r *run) storm(ctx context.Context) error {
	s := r.scenario.Storm
	r.crowd, r.outcomes = newCrowd(), make([]outcome, len(r.requests))
	r.say("%d clients make %d requests", s.Clients, s.Requests)
	next := make(chan int)
	var clients sync.WaitGroup
	for range s.Clients {
		clients.Go(func() {
			for n := range next {
				r.outcomes[n] = r.serve(ctx, n)
			}
		})
	}
	err := r.waves(ctx, next)
	close(next)
	clients.Wait()
	return err
}

func (r *run) waves(ctx context.Context, next chan<- int) error {
	s := r.scenario.Storm
	for wave, n := 0, 0; wave <= s.Kills; wave++ {
		end := s.Requests * (wave + 1) / (s.Kills + 1)
		hit := make(chan error, 1)
		if begin := n; wave < s.Kills {
			go func() { hit <- r.kill(ctx, wave, begin, end) }()
		} else {
			hit <- nil
		}
		for ; n < end; n++ {
			select {
			case next <- n:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if err := <-hit; err != nil {
			return err
		}
	}
	return nil
}

// kill kills when a quarter of a wave is answered, and lets the dead come back when three quarters are: the others
// answer meanwhile.
func (r *run) kill(ctx context.Context, wave, begin, end int) error {
	if err := r.awaitAnswered(ctx, begin+(end-begin)/4); err != nil {
		return err
	}
	victims, err := r.victims(ctx, wave)
	if err != nil {
		return err
	}
	for _, p := range victims {
		r.say("  %d are answered; kill -9 %s", r.crowd.answered.Load(), p.name)
		if err := p.kill(); err != nil {
			return err
		}
	}
	if err := r.awaitAnswered(ctx, begin+(end-begin)*3/4); err != nil {
		return err
	}
	for _, p := range victims {
		if err := errors.Join(p.begin(), p.await(ctx)); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) awaitAnswered(ctx context.Context, n int) error {
	return until(ctx, fmt.Sprintf("%d requests are answered", n), func() (bool, error) { return r.crowd.answered.Load() >= int64(n), nil })
}

// victims are a replica, the leader of etcd, or, the last time, both.
func (r *run) victims(ctx context.Context, wave int) (out []*process, err error) {
	last := wave == r.scenario.Storm.Kills-1
	if wave%2 == 0 || last {
		out = append(out, r.cluster.replicas[wave/2%len(r.cluster.replicas)])
		r.killed.replicas++
	}
	if wave%2 == 0 && !last {
		return out, nil
	}
	leader := -1
	err = until(ctx, "etcd has a leader", func() (bool, error) { leader = r.cluster.leader(ctx); return leader >= 0, nil })
	if err != nil {
		return nil, err
	}
	r.killed.leaders++
	return append(out, r.cluster.members[leader]), nil
}
