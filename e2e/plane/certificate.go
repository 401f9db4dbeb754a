package plane

import (
	"crypto/tls"
	"crypto/x509/pkix"
	"sync/atomic"
	"testing"
	"time"
)

// Certificate is what a router shows to clients: one that is valid, or one that has expired.
type Certificate struct {
	valid, expired tls.Certificate
	shown          atomic.Pointer[tls.Certificate]
}

// certificate is a router's.
func (p *Plane) certificate(t *testing.T, router string) *Certificate {
	t.Helper()
	c := &Certificate{}
	hour := time.Now().Add(-time.Hour)
	var err error
	if c.valid, err = tls.LoadX509KeyPair(p.PKI.Issue(t, router, p.Host, "127.0.0.1")); err != nil {
		t.Fatal(err)
	}
	files := func() (string, string) {
		return p.PKI.IssueBetween(t, hour, hour.Add(time.Minute), pkix.Name{CommonName: router + "-expired"}, p.Host, "127.0.0.1")
	}
	if c.expired, err = tls.LoadX509KeyPair(files()); err != nil {
		t.Fatal(err)
	}
	c.shown.Store(&c.valid)
	return c
}

// Expire has connections from now on see the expired certificate; Renew ends that.
func (c *Certificate) Expire() { c.shown.Store(&c.expired) }

// Renew has connections from now on see the valid certificate.
func (c *Certificate) Renew() { c.shown.Store(&c.valid) }

// server is the TLS configuration of a router that shows it.
func (p *Plane) server(t *testing.T, c *Certificate) *tls.Config {
	t.Helper()
	config := p.Server(t, "router")
	config.Certificates = nil
	config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.shown.Load(), nil }
	return config
}
