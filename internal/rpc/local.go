// Package rpc is how services call each other: ConnectRPC over HTTP, whether
// the other side is in this process or on another host.
//
// In: Connect handlers mounted on a Mux.
// Out: an http.Client that reaches them, either in memory (Local) or over TCP.
// Next: the generated Connect clients.
package rpc

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"

	"github.com/millrace/millrace/internal/trace"
)

// LocalURL is the base URL to give Connect clients that use Local.Client.
const LocalURL = "http://millrace.local"

// Local serves a handler over in-memory connections, so that services inside
// one process speak through the very same HTTP stack as between processes.
type Local struct {
	server *http.Server
	pipes  *pipes
	served chan struct{}

	mu      sync.Mutex
	clients []*http.Client
}

// NewLocal starts serving handler; Close ends it.
func NewLocal(handler http.Handler) *Local {
	l := &Local{
		server: &http.Server{Handler: handler, Protocols: Protocols()},
		pipes:  &pipes{conns: make(chan net.Conn), done: make(chan struct{})},
		served: make(chan struct{}),
	}
	go func() {
		defer close(l.served)
		_ = l.server.Serve(l.pipes) // always http.ErrServerClosed
	}()
	return l
}

// Client returns a client whose every request goes to the handler. It speaks
// HTTP/2 without TLS only: a client that may speak HTTP/1.1 as well prefers it,
// and streams in both directions need HTTP/2.
func (l *Local) Client() *http.Client {
	h2 := new(http.Protocols)
	h2.SetUnencryptedHTTP2(true)
	c := &http.Client{Transport: trace.Transport(uncompressed{&http.Transport{DialContext: l.pipes.dial, Protocols: h2, DisableCompression: true}})}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clients = append(l.clients, c)
	return c
}

// uncompressed asks for answers as they are: in memory there is nothing to be saved by compressing them.
type uncompressed struct{ next *http.Transport }

// RoundTrip implements http.RoundTripper.
func (u uncompressed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for _, offer := range []string{"Accept-Encoding", "Connect-Accept-Encoding", "Grpc-Accept-Encoding"} {
		r.Header.Del(offer)
	}
	return u.next.RoundTrip(r)
}

// CloseIdleConnections is what http.Client looks for.
func (u uncompressed) CloseIdleConnections() { u.next.CloseIdleConnections() }

// Close ends all connections; requests under way fail and their contexts end.
func (l *Local) Close() error {
	err := l.server.Close()
	<-l.served
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.clients {
		c.CloseIdleConnections()
	}
	return err
}

// pipes is a net.Listener whose connections come from dial.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.done:
		return nil, fmt.Errorf("call a service of this process: it has stopped: %w", net.ErrClosed)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// Addr implements net.Listener.
func (p *pipes) Addr() net.Addr { return localAddr{} }

// Close implements net.Listener.
func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

type localAddr struct{}

func (localAddr) Network() string { return "local" }
func (localAddr) String() string  { return LocalURL }
