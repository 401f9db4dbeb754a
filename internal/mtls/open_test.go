package mtls

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/pki"
)

// TestWhichCertificatesAreGood is the table of what a client's certificate is judged by, at a handshake and after it.
func TestWhichCertificatesAreGood(t *testing.T) {
	ca, other := pki.New(t), pki.New(t)
	good, _ := ca.Issue(t, "good")
	bad, _ := ca.Issue(t, "bad")
	foreign, _ := other.Issue(t, "foreign")
	cert, key := ca.Issue(t, "router")
	due := time.Now().Add(time.Hour).Truncate(time.Second)
	crl := t.TempDir() + "/crl"
	ca.Revoke(t, crl, due, bad)
	for _, c := range []struct {
		name, cert, overdue string
		at                  time.Time
		want                string
	}{
		{"one that is not on the list", good, "", time.Now(), ""},
		{"one on the list", bad, "", time.Now(), reasonRevoked},
		{"one on the list, refusing overdue lists", bad, RefuseOverdue, time.Now(), reasonRevoked},
		{"not on the list, which is due this second", good, RefuseOverdue, due, ""},
		{"not on the list, which is overdue", good, RefuseOverdue, due.Add(time.Second), reasonOverdue},
		{"not on the list, which is overdue and used", good, UseOverdue, due.Add(time.Second), ""},
		{"on the list, which is overdue and used", bad, UseOverdue, due.Add(time.Second), reasonRevoked},
		{"one that has expired", good, "", time.Now().Add(48 * time.Hour), reasonExpired},
		{"one of another CA", foreign, "", time.Now(), reasonUntrusted},
	} {
		t.Run(c.name, func(t *testing.T) {
			creds, err := New(Files{CA: ca.CA, Cert: cert, Key: key, CRL: crl, CRLOverdue: c.overdue}, Dependencies{})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if r := creds.inUse.Load().judgeClient([]*x509.Certificate{leaf(t, c.cert)}, c.at); r != nil {
				got = r.reason
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	if _, err := New(Files{CA: ca.CA, Cert: cert, Key: key, CRLOverdue: "never"}, Dependencies{}); err == nil {
		t.Error("a choice that there is not is taken")
	}
}

func leaf(t *testing.T, file string) *x509.Certificate {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	list, err := blocks(raw, "CERTIFICATE")
	if err != nil {
		t.Fatal(err)
	}
	out, err := x509.ParseCertificate(list[0])
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestOpenConnectionsEnd: a certificate that is not good any more ends what it opened, and no other connection.
func TestOpenConnectionsEnd(t *testing.T) {
	for _, c := range []struct {
		reason string
		change func(t *testing.T, ca *pki.Authority, server, client *end)
	}{
		{reasonRevoked, func(t *testing.T, ca *pki.Authority, server, client *end) {
			ca.Revoke(t, server.files.CRL, time.Now().Add(time.Hour), client.files.Cert)
			server.Look()
		}},
		{reasonExpired, func(_ *testing.T, _ *pki.Authority, server, _ *end) {
			server.ahead = 30 * time.Hour
			server.expel()
		}},
		{reasonUntrusted, func(t *testing.T, _ *pki.Authority, server, _ *end) {
			another := pki.New(t)
			server.copy(another.CA, server.files.CA)
			another.Revoke(t, server.files.CRL, time.Now().Add(time.Hour))
			server.Look()
		}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			ca := pki.New(t)
			server := newEnd(t, ca, "router", true)
			client := newEnd(t, ca, "controller", false)
			l := serving(t, server)
			conn := connected(t, l, client)
			server.Look()
			server.expel()
			if _, err := conn.Write([]byte("x")); err != nil || testutil.CollectAndCount(server.Credentials.metrics.ended) != 0 {
				t.Fatalf("a good connection was ended: %v", err)
			}
			c.change(t, ca, server, client)
			if _, err := conn.Read(make([]byte, 1)); err == nil {
				t.Error("the connection is open")
			}
			if n := testutil.ToFloat64(server.Credentials.metrics.ended.WithLabelValues(c.reason)); n != 1 || server.log.count("peer-ended") != 1 {
				t.Errorf("%v counted, log:\n%s", n, server.log.b.String())
			}
			await.True(t, "the connection is forgotten", func() bool {
				none := true
				server.open.Range(func(any, any) bool { none = false; return true })
				return none
			})
		})
	}
}

// serving is a server that keeps its connections open, and reads nothing.
func serving(t *testing.T, server *end) net.Listener {
	t.Helper()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := tls.NewListener(server.Listen(tcp), server.Server(tls.RequireAndVerifyClientCert))
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
			go conn.Write([]byte("x")) //nolint:errcheck // the client says
		}
	}()
	return l
}

// connected is a client's connection of which both ends have shaken hands.
func connected(t *testing.T, l net.Listener, client *end) net.Conn {
	t.Helper()
	conn, err := tls.Dial("tcp", l.Addr().String(), To(client.Client(), address))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return conn
}
