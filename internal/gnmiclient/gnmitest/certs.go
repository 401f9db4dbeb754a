package gnmitest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"testing"
	"time"
)

// Certs is a certificate authority with one server and one client certificate.
type Certs struct{ Server, Client *tls.Config }

// NewCerts makes a new authority; certificates of two of them do not trust each other.
func NewCerts(t testing.TB) Certs {
	t.Helper()
	ca, caKey := certificate(t, nil, nil, "ca")
	pool := x509.NewCertPool()
	pool.AddCert(ca)
	return Certs{
		Server: &tls.Config{
			Certificates: []tls.Certificate{pair(t, ca, caKey, "router")},
			ClientCAs:    pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
		},
		Client: &tls.Config{
			Certificates: []tls.Certificate{pair(t, ca, caKey, "controller")},
			RootCAs:      pool, MinVersion: tls.VersionTLS12,
		},
	}
}

func pair(t testing.TB, ca *x509.Certificate, caKey *ecdsa.PrivateKey, name string) tls.Certificate {
	c, key := certificate(t, ca, caKey, name)
	return tls.Certificate{Certificate: [][]byte{c.Raw}, PrivateKey: key, Leaf: c}
}

// certificate is self-signed where ca is nil.
func certificate(t testing.TB, ca *x509.Certificate, caKey *ecdsa.PrivateKey, name string) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatalf("generate key: %v", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IsCA:        ca == nil, BasicConstraintsValid: true,
	}
	if ca == nil {
		ca, caKey = template, key
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, ca, &key.PublicKey, caKey)
	if err != nil {
		t.Fatalf("sign certificate: %v", err)
	}
	parsed, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatalf("parse certificate: %v", err)
	}
	return parsed, key
}
