package mtls

import (
	"crypto/x509"
	"fmt"
	"net"
	"sync"

	"github.com/millrace/millrace/internal/events"
)

// listener makes known to the credentials which connections are open.
type listener struct {
	net.Listener
	of *Credentials
}

// opened is a connection that was accepted. The handshake says whose it is.
type opened struct {
	net.Conn
	of *Credentials

	mu   sync.Mutex
	sent []*x509.Certificate // by the client, its own first; nil: none, or not yet
}

// Listen is l for a server with the configuration Server. A connection whose client's certificate is revoked or
// expired, or whose CA is trusted no longer, is closed by Run, and by every handshake that finds other files. TLS is to
// be spoken on the connections themselves, with nothing between.
func (c *Credentials) Listen(l net.Listener) net.Listener { return &listener{l, c} }

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	o := &opened{Conn: conn, of: l.of}
	l.of.open.Store(o, nil)
	return o, nil
}

// Close forgets the connection.
func (o *opened) Close() error {
	o.of.open.Delete(o)
	return o.Conn.Close()
}

// whose notes the certificates of a connection that has shaken hands.
func whose(conn net.Conn, sent []*x509.Certificate) {
	if o, ok := conn.(*opened); ok {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.sent = sent
	}
}

// expel closes the connections that could not be opened now.
func (c *Credentials) expel() {
	s, now := c.inUse.Load(), c.deps.Now()
	c.open.Range(func(key, _ any) bool {
		o := key.(*opened)
		o.mu.Lock()
		sent := o.sent
		o.mu.Unlock()
		if len(sent) == 0 {
			return true
		}
		if r := s.judgeClient(sent, now); r != nil {
			if _, there := c.open.LoadAndDelete(o); !there {
				return true // another call ends it, or its owner has
			}
			c.metrics.ended.WithLabelValues(r.reason).Inc()
			c.tell(notice{events.PeerEnded, fmt.Sprintf("A connection from %s to %s was ended: the certificate is not good any more: %s.", o.RemoteAddr(), c.deps.Use, r.text)})
			_ = o.Close()
		}
		return true
	})
}
