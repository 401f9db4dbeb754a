// Package pki makes certificates for tests: Millrace connects to routers and brokers over TLS only.
//
// In: names and addresses.
// Out: PEM files signed by a CA that lives as long as the test.
// Next: tests of internal/device, internal/bus and other packages that dial with TLS.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority is a CA and the folder its files are in.
type Authority struct {
	// CA is the file with its certificate.
	CA  string
	dir string

	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// New makes a CA in a folder of the test.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{dir: t.TempDir()}
	a.CA = filepath.Join(a.dir, "ca.pem")
	a.key = newKey(t)
	a.cert = &x509.Certificate{
		SerialNumber: serial(t), Subject: pkix.Name{CommonName: "test CA"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	writePEM(t, a.CA, block("CERTIFICATE", a.sign(t, a.cert, a.key)))
	return a
}

// Issue writes a certificate that is good for client and server, and its key.
// Hosts are DNS names or addresses.
func (a *Authority) Issue(t testing.TB, name string, hosts ...string) (cert, key string) {
	t.Helper()
	return a.IssueFor(t, pkix.Name{CommonName: name}, hosts...)
}

// IssueFor is Issue for a subject with more than a common name, such as a unit.
func (a *Authority) IssueFor(t testing.TB, subject pkix.Name, hosts ...string) (cert, key string) {
	t.Helper()
	return a.IssueBetween(t, a.cert.NotBefore, a.cert.NotAfter, subject, hosts...)
}

// IssueBetween is IssueFor with a time before and a time after which the certificate is not valid.
func (a *Authority) IssueBetween(t testing.TB, from, until time.Time, subject pkix.Name, hosts ...string) (cert, key string) {
	t.Helper()
	name := subject.CommonName
	template := &x509.Certificate{
		SerialNumber: serial(t), Subject: subject,
		NotBefore: from, NotAfter: until,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
			continue
		}
		template.DNSNames = append(template.DNSNames, h)
	}
	private := newKey(t)
	cert, key = filepath.Join(a.dir, name+".pem"), filepath.Join(a.dir, name+".key")
	writePEM(t, cert, block("CERTIFICATE", a.sign(t, template, private)))
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, key, block("PRIVATE KEY", der))
	return cert, key
}

// Revoke writes a CRL of this CA that has these certificates' files, and is to be replaced at due, to a file.
func (a *Authority) Revoke(t testing.TB, file string, due time.Time, certs ...string) {
	t.Helper()
	list := &x509.RevocationList{Number: serial(t), ThisUpdate: a.cert.NotBefore, NextUpdate: due}
	for _, cert := range certs {
		raw, err := os.ReadFile(cert)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := pem.Decode(raw)
		c, err := x509.ParseCertificate(b.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		list.RevokedCertificateEntries = append(list.RevokedCertificateEntries, x509.RevocationListEntry{SerialNumber: c.SerialNumber, RevocationTime: a.cert.NotBefore})
	}
	der, err := x509.CreateRevocationList(rand.Reader, list, a.cert, a.key)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, file, block("X509 CRL", der))
}

// Client is the TLS configuration of a client that has a certificate of this CA.
func (a *Authority) Client(t testing.TB, name string) *tls.Config {
	t.Helper()
	cert, err := tls.LoadX509KeyPair(a.Issue(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{RootCAs: a.Pool(), Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
}

// Pool trusts this CA only.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// sign signs template for key; for the CA's own that is itself. The parsed CA
// replaces its template, because a pool compares what is on the wire.
func (a *Authority) sign(t testing.TB, template *x509.Certificate, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	if template == a.cert {
		if a.cert, err = x509.ParseCertificate(der); err != nil {
			t.Fatal(err)
		}
	}
	return der
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func serial(t testing.TB) *big.Int {
	t.Helper()
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func block(kind string, der []byte) *pem.Block { return &pem.Block{Type: kind, Bytes: der} }

func writePEM(t testing.TB, path string, b *pem.Block) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(b), 0o600); err != nil {
		t.Fatal(err)
	}
}
