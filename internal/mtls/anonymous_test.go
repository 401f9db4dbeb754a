package mtls

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/internal/testkit/pki"
)

// A client without a certificate meets servers that demand none, goes by its CA and CRL as they are now, and has no
// certificate whose end could be near.
func TestAClientWithoutACertificate(t *testing.T) {
	ca, another := pki.New(t), pki.New(t)
	server := newEnd(t, ca, "broker", false)
	client := &end{t: t, ca: ca, folder: t.TempDir(), metrics: prometheus.NewRegistry()}
	client.files = Files{CA: filepath.Join(client.folder, "ca"), CRL: filepath.Join(client.folder, "crl")}
	client.copy(ca.CA, client.files.CA)
	ca.Revoke(t, client.files.CRL, time.Now().Add(time.Hour))
	var err error
	client.Credentials, err = NewAnonymous(client.files.CA, client.files.CRL, Dependencies{Use: "kafka", Log: slog.New(slog.NewTextHandler(&client.log, nil)), Registerer: client.metrics})
	if err != nil {
		t.Fatal(err)
	}
	handshake := func() error {
		a, b := wire(t)
		defer a.Close()
		go func() {
			defer b.Close()
			if conn := tls.Server(b, server.Server(tls.VerifyClientCertIfGiven)); conn.Handshake() == nil {
				_, _ = conn.Write([]byte("x")) // the client judges
			}
		}()
		conn := tls.Client(a, To(client.Client(), address))
		_, err := conn.Read(make([]byte, 1))
		return err
	}
	if err := handshake(); err != nil {
		t.Errorf("its own CA: %v", err)
	}
	wantRefusal(t, client, server, "certificate")
	if n, err := testutil.GatherAndCount(client.metrics, "millrace_internal_mtls_not_after_timestamp_seconds"); n != 0 || err != nil {
		t.Errorf("%d ends of certificates that are not there, %v", n, err)
	}
	ca.Revoke(t, client.files.CRL, time.Now().Add(time.Hour), server.files.Cert)
	var refused *tls.CertificateVerificationError // by which others tell a certificate from a network that is down
	if err := handshake(); !errors.As(err, &refused) || !strings.Contains(err.Error(), "is revoked") {
		t.Errorf("a revoked server: %v", err)
	}
	client.copy(another.CA, client.files.CA)
	another.Revoke(t, client.files.CRL, time.Now().Add(time.Hour))
	if err := handshake(); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("another CA: %v", err)
	}
	if client.log.count("certificates-read") != 2 {
		t.Errorf("told: %s", client.log.b.String())
	}
}

func TestNoCertificateIsTakenOnPurposeOnly(t *testing.T) {
	ca := pki.New(t)
	cert, key := ca.Issue(t, "router")
	for _, files := range []Files{{CA: ca.CA}, {CA: ca.CA, Cert: cert}, {CA: ca.CA, Key: key}} {
		if _, err := New(files, Dependencies{}); err == nil {
			t.Errorf("%+v is taken", files)
		}
	}
}

// Hosts come with the CAs that sign for anybody; not one of their certificates may make the file unusable.
func TestTheHostsOwnCAsAreTaken(t *testing.T) {
	const file = "/etc/ssl/certs/ca-certificates.crt"
	if _, err := os.Stat(file); err != nil {
		t.Skipf("this host has none: %v", err)
	}
	if _, err := NewAnonymous(file, "", Dependencies{}); err != nil {
		t.Error(err)
	}
}
