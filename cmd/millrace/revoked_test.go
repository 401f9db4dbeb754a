package main

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/mtls"
	"github.com/millrace/millrace/internal/testkit/pki"
)

// TestConnectionsBetweenServicesEndWithTheirCertificate: the port of `millrace serve` goes by the CRL for connections
// that are open, as agents' do.
func TestConnectionsBetweenServicesEndWithTheirCertificate(t *testing.T) {
	ca := pki.New(t)
	crl := filepath.Join(t.TempDir(), "crl.pem")
	ca.Revoke(t, crl, time.Now().Add(time.Hour))
	cert, key := ca.Issue(t, "push", "push.millrace")
	cfg := configured(t, "tls: {ca: "+ca.CA+", cert: "+cert+", key: "+key+", crl: "+crl+", crl_overdue: refuse}\n")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cfg: cfg, name: "push", listener: l, log: slog.New(slog.DiscardHandler), metrics: prometheus.NewRegistry(), failed: make(chan error, 1)}
	if p.credentials, err = mtls.New(cfg.TLS.files("push"), mtls.Dependencies{}); err != nil {
		t.Fatal(err)
	}
	s := newAPIServer(p)
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.server.Close() })
	theirs, theirKey := ca.Issue(t, "alpha", "alpha.millrace")
	pair, err := tls.LoadX509KeyPair(theirs, theirKey)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{RootCAs: ca.Pool(), ServerName: "push.millrace", Certificates: []tls.Certificate{pair}, NextProtos: []string{"http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	answer, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		t.Fatal(err)
	}
	ca.Revoke(t, crl, time.Now().Add(time.Hour), theirs)
	p.credentials.Look()
	if _, err := in.ReadByte(); err == nil {
		t.Error("the connection is open")
	}
}

// TestRevoking: the command takes files and serial numbers, and says what the list has.
func TestRevoking(t *testing.T) {
	folder := t.TempDir()
	ca, out := filepath.Join(folder, "ca"), filepath.Join(folder, "tls")
	for _, c := range []struct {
		args []string
		says string // of the answer, or of the error
	}{
		{[]string{"init", ca}, "made a CA"},
		{[]string{"issue", ca, "push", "--out", out}, "push until"},
		{[]string{"crl", ca}, "has 0 revoked certificates"},
		{[]string{"revoke", ca, filepath.Join(out, "push", "tls.crt"), "12345"}, "has 2 revoked certificates"},
		{[]string{"revoke", ca, filepath.Join(out, "push", "tls.key")}, "has no PEM certificate"},
		{[]string{"revoke", ca, filepath.Join(out, "nobody", "tls.crt")}, "no such file"},
	} {
		var text strings.Builder
		cmd := caCommand()
		cmd.SetArgs(c.args)
		cmd.SetOut(&text)
		cmd.SetErr(&text)
		if err := cmd.Execute(); !strings.Contains(text.String()+fmt.Sprint(err), c.says) {
			t.Errorf("%v: %s, %v; want %q", c.args, text.String(), err, c.says)
		}
	}
}
