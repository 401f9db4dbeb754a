// Package rpc is how services call each other: ConnectRPC over HTTP, whether
// the other side is in this process or on another host.
//
// In: Connect handlers mounted on a Mux. Out: an http.Client that reaches them,
// either in memory (Local) or over TCP. Next: the generated Connect clients.
package rpc

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// LocalURL is the base URL to give Connect clients that use Local.Client.
const LocalURL = "http://millrace.local"

// Local serves a handler over in-memory connections, so that services inside
// one process speak through the very same HTTP stack as between processes.
type Local struct {
	server *http.Server
	conns  chan net.Conn
	done   chan struct{}
	once   sync.Once
}

// NewLocal starts serving handler; Close ends it.
func NewLocal(handler http.Handler) *Local {
	l := &Local{conns: make(chan net.Conn), done: make(chan struct{})}
	l.server = &http.Server{Handler: handler, Protocols: protocols()}
	go l.server.Serve(l) //nolint:errcheck // always http.ErrServerClosed
	return l
}

// Client returns a client whose every request goes to the handler.
func (l *Local) Client() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext: l.dial,
		Protocols:   protocols(),
	}}
}

func (l *Local) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (l *Local) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Addr implements net.Listener.
func (l *Local) Addr() net.Addr { return localAddr{} }

// Close implements net.Listener and ends all connections. The server closes its
// listener too, which is this: the second call must find nothing left to do.
func (l *Local) Close() error {
	first := false
	l.once.Do(func() {
		close(l.done)
		first = true
	})
	if !first {
		return nil
	}
	return l.server.Close()
}

// protocols allows HTTP/1.1 and, for bidirectional streams, HTTP/2 without TLS.
func protocols() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetUnencryptedHTTP2(true)
	return p
}

type localAddr struct{}

func (localAddr) Network() string { return "local" }
func (localAddr) String() string  { return LocalURL }
