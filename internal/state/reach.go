package state

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/url"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/internal/lifecycle"
)

const (
	// askEvery and askWithin are how often a member is asked whether it answers, and how long it may take. A member
	// that stands still is left within 3 s, so that a LeaderLease, which is renewed every third of it, survives.
	askEvery  = time.Second
	askWithin = 2 * time.Second
)

// reach ends connections to members that do not answer while another one does. A member whose process stands still, or
// whose host is cut off, leaves its connections open: requests, watches and leases would wait there for the 13 s that
// gRPC takes at least. What ends with its connection goes on at another member. Where no member answers, none is left:
// they are slow, or we are.
type reach struct {
	dialer net.Dialer

	mu    sync.Mutex
	conns map[string]map[*keptConn]bool
	// silent are the members that did not answer when they were asked last, left those that were left since they did.
	silent, left map[string]bool
}

// dial is a connection that reach can end.
func (r *reach) dial(ctx context.Context, member string) (net.Conn, error) {
	c, err := r.dialer.DialContext(ctx, "tcp", member)
	if err != nil {
		return nil, err
	}
	kept := &keptConn{Conn: c}
	kept.gone = func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.conns[member], kept)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conns[member] == nil {
		r.conns[member] = map[*keptConn]bool{}
	}
	r.conns[member][kept] = true
	return kept, nil
}

type keptConn struct {
	net.Conn
	gone func()
}

// Close implements net.Conn.
func (c *keptConn) Close() error {
	c.gone()
	return c.Conn.Close()
}

// ask asks a member for ever. After a silence it does so on a new connection: on the old one TCP sends again up to two
// minutes after the member is back (Linux's TCP_RTO_MAX). Until then a member that falls silent once more would keep
// its requests, since it counts as left.
func (r *reach) ask(ctx context.Context, member string, c *grpc.ClientConn, connect func() (*grpc.ClientConn, error)) {
	defer func() { _ = c.Close() }()
	for ; ctx.Err() == nil; lifecycle.Pause(ctx, askEvery) {
		err := answers(ctx, c)
		if ctx.Err() != nil {
			return
		}
		r.asked(member, err)
		if err == nil {
			continue
		}
		if next, err := connect(); err == nil { // what it could refuse was right before
			_ = c.Close()
			c = next
		}
	}
}

// answers fails if a member does not answer in time; a refusal is an answer.
func answers(ctx context.Context, c *grpc.ClientConn) error {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	_, err := health.NewHealthClient(c).Check(ctx, &health.HealthCheckRequest{}, grpc.WaitForReady(true))
	if code := status.Code(err); code == codes.Unavailable || code == codes.DeadlineExceeded {
		return err
	}
	return nil
}

// asked takes an answer, or that there was none.
func (r *reach) asked(member string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.silent[member] = err != nil
	switch {
	case err == nil && r.left[member]:
		r.left[member] = false
		slog.Info("a member of etcd answers again", "member", member)
	case leaves(r.silent, member) && !r.left[member]:
		r.left[member] = true
		slog.Warn("a member of etcd does not answer; requests go to the others", "member", member, "error", err)
		for c := range r.conns[member] {
			_ = c.Conn.Close() // its requests go on elsewhere
		}
	}
}

// leaves reports whether connections to a member end: it is silent, and another one is not.
func leaves(silent map[string]bool, member string) bool {
	if !silent[member] {
		return false
	}
	for other, is := range silent {
		if other != member && !is {
			return true
		}
	}
	return false
}

// again is how soon a connection to a member is tried again: it is not to be without one for long after it came back.
var again = grpc.WithConnectParams(grpc.ConnectParams{
	Backoff: backoff.Config{BaseDelay: askEvery, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 5 * time.Second}, MinConnectTimeout: 5 * time.Second,
})

// begin asks the members at some endpoints until the context ends, and returns how to connect to them. A single one is
// not asked: there is no other.
func (r *reach) begin(ctx context.Context, endpoints []string, t *tls.Config) ([]grpc.DialOption, error) {
	if len(endpoints) == 1 {
		return nil, nil
	}
	r.conns, r.silent, r.left = map[string]map[*keptConn]bool{}, map[string]bool{}, map[string]bool{}
	asks := []func(){}
	for _, e := range endpoints {
		u, err := url.Parse(e)
		if err != nil || u.Host == "" { // a socket file
			return nil, err
		}
		of := insecure.NewCredentials()
		if u.Scheme == "https" {
			of = credentials.NewTLS(t)
		}
		connect := func() (*grpc.ClientConn, error) {
			return grpc.NewClient("passthrough:///"+u.Host, grpc.WithTransportCredentials(of), grpc.WithNoProxy(), again)
		}
		c, err := connect() // it dials when it is first used
		if err != nil {
			return nil, err
		}
		r.silent[u.Host] = true // until it answers
		asks = append(asks, func() { r.ask(ctx, u.Host, c, connect) })
	}
	// Answers are taken once all members are known: the first one may come before the last member.
	for _, ask := range asks {
		go ask()
	}
	return []grpc.DialOption{grpc.WithContextDialer(r.dial), again}, nil
}
