package gnmitest

import (
	"crypto/tls"
	"testing"

	"github.com/millrace/millrace/internal/testkit/pki"
)

// Certs is a certificate authority with one server and one client certificate.
type Certs struct{ Server, Client *tls.Config }

// NewCerts makes a new authority; certificates of two of them do not trust each other.
func NewCerts(t testing.TB) Certs {
	t.Helper()
	ca := pki.New(t)
	cert, err := tls.LoadX509KeyPair(ca.Issue(t, "router", "127.0.0.1"))
	if err != nil {
		t.Fatalf("load the router's certificate: %v", err)
	}
	return Certs{
		Server: &tls.Config{
			Certificates: []tls.Certificate{cert}, ClientCAs: ca.Pool(),
			ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
		},
		Client: ca.Client(t, "controller"),
	}
}
