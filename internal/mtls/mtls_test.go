package mtls

import (
	"bytes"
	"crypto/tls"
	"crypto/x509/pkix"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/internal/testkit/pki"
	"github.com/millrace/millrace/internal/testkit/wholefile"
)

// address is the address that clients expect in the server's certificate.
const address = "192.0.2.1:9339"

// end is one end of connections and the clock that it goes by. Its files are its own.
type end struct {
	t       *testing.T
	ca      *pki.Authority // whom it trusts, and who signed its certificate
	folder  string
	files   Files
	log     buffer
	ahead   time.Duration
	metrics *prometheus.Registry
	*Credentials
}

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) count(code string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Count(b.b.String(), "code="+code+" ")
}

// newEnd has copies of a certificate and a CA, and an empty CRL if it has one at all.
func newEnd(t *testing.T, ca *pki.Authority, name string, withCRL bool) *end {
	t.Helper()
	e := &end{t: t, ca: ca, folder: t.TempDir(), metrics: prometheus.NewRegistry()}
	e.files = Files{CA: filepath.Join(e.folder, "ca"), Cert: filepath.Join(e.folder, "cert"), Key: filepath.Join(e.folder, "key")}
	e.copy(ca.CA, e.files.CA)
	e.renew(name)
	if withCRL {
		e.files.CRL = filepath.Join(e.folder, "crl")
		ca.Revoke(t, e.files.CRL, time.Now().Add(time.Hour))
	}
	c, err := New(e.files, Dependencies{Use: name, Log: slog.New(slog.NewTextHandler(&e.log, nil)), Registerer: e.metrics,
		Now: func() time.Time { return time.Now().Add(e.ahead) }})
	if err != nil {
		t.Fatal(err)
	}
	e.Credentials = c
	return e
}

func (e *end) copy(from, to string) {
	e.t.Helper()
	raw, err := os.ReadFile(from)
	if err != nil {
		e.t.Fatal(err)
	}
	wholefile.Write(e.t, to, string(raw))
}

func (e *end) write(file, text string) {
	e.t.Helper()
	wholefile.Write(e.t, file, text)
}

// renew replaces certificate and key.
func (e *end) renew(name string) {
	e.t.Helper()
	cert, key := e.ca.Issue(e.t, name, "192.0.2.1")
	e.copy(cert, e.files.Cert)
	e.copy(key, e.files.Key)
}

func (e *end) serial() string { return e.inUse.Load().cert.Leaf.SerialNumber.String() }

// meet is a handshake of both ends, as services make it, and the result of each.
func meet(t *testing.T, client, server *end) (theirs tls.ConnectionState, clientErr, serverErr error) {
	t.Helper()
	a, b := wire(t)
	defer a.Close()
	served := make(chan error, 1)
	go func() {
		defer b.Close()
		conn := tls.Server(b, server.Server(tls.RequireAndVerifyClientCert))
		err := conn.Handshake()
		if err == nil {
			_, err = conn.Write([]byte("x"))
		}
		served <- err
	}()
	conn := tls.Client(a, To(client.Client(), address))
	clientErr = conn.Handshake()
	if clientErr == nil {
		_, clientErr = conn.Read(make([]byte, 1)) // a server's refusal comes after the handshake
	}
	theirs = conn.ConnectionState()
	a.Close()
	return theirs, clientErr, <-served
}

// wire is a connection with buffers: over net.Pipe two ends that both send an alert wait for each other.
func wire(t *testing.T) (client, server net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if client, err = net.Dial("tcp", l.Addr().String()); err == nil {
		server, err = l.Accept()
	}
	if err != nil {
		t.Fatal(err)
	}
	return client, server
}

func wantMeeting(t *testing.T, client, server *end) tls.ConnectionState {
	t.Helper()
	theirs, c, s := meet(t, client, server)
	if c != nil || s != nil {
		t.Fatalf("client: %v, server: %v; want a connection", c, s)
	}
	return theirs
}

func wantRefusal(t *testing.T, client, server *end, why string) {
	t.Helper()
	_, c, s := meet(t, client, server)
	if err := errors.Join(c, s); c == nil || err == nil || !strings.Contains(err.Error(), why) {
		t.Fatalf("client: %v, server: %v; want %q", c, s, why)
	}
}

func TestBothEndsRenewTheirCertificates(t *testing.T) {
	ca := pki.New(t)
	client, server := newEnd(t, ca, "controller", false), newEnd(t, ca, "router", false)
	before := wantMeeting(t, client, server).PeerCertificates[0].SerialNumber.String()
	server.renew("router")
	client.renew("controller")
	mine := client.serial()
	after := wantMeeting(t, client, server)
	if after.PeerCertificates[0].SerialNumber.String() == before || client.serial() == mine {
		t.Error("a renewed certificate is not used")
	}
	if client.log.count("certificates-read") != 1 || server.log.count("certificates-read") != 1 {
		t.Errorf("told: %s%s", client.log.b.String(), server.log.b.String())
	}
}

// A CA is replaced in three steps: trust both, renew, trust the new one.
func TestTheCAIsReplaced(t *testing.T) {
	first, second := pki.New(t), pki.New(t)
	client, server := newEnd(t, first, "controller", false), newEnd(t, first, "router", false)
	wantMeeting(t, client, server)
	both := func(e *end) {
		raw, err := os.ReadFile(second.CA)
		if err != nil {
			t.Fatal(err)
		}
		old, err := os.ReadFile(first.CA)
		if err != nil {
			t.Fatal(err)
		}
		e.write(e.files.CA, string(old)+string(raw))
	}
	both(client)
	both(server)
	wantMeeting(t, client, server)
	server.ca = second
	server.renew("router")
	wantMeeting(t, client, server)
	client.copy(second.CA, client.files.CA)
	wantMeeting(t, client, server)
	server.copy(second.CA, server.files.CA)
	wantRefusal(t, client, server, "unknown authority")
	client.ca = second
	client.renew("controller")
	wantMeeting(t, client, server)
}

// The name or address that was dialled is verified, although a connection's state does not have an address.
func TestTheServerMustBeWhoWasDialled(t *testing.T) {
	ca := pki.New(t)
	client, server := newEnd(t, ca, "controller", false), newEnd(t, ca, "router", false)
	cert, key := ca.Issue(t, "another", "192.0.2.2", "another.example")
	server.copy(cert, server.files.Cert)
	server.copy(key, server.files.Key)
	wantRefusal(t, client, server, "valid for 192.0.2.2, not 192.0.2.1")
	if err := client.verify("", nil); err == nil {
		t.Error("a server without name and certificate is believed")
	}
	// A client that does not call To is as strict.
	config := client.Client()
	config.ServerName = "192.0.2.1"
	a, b := wire(t)
	go func() { _ = tls.Server(b, server.Server(tls.RequireAndVerifyClientCert)).Handshake(); b.Close() }()
	if err := tls.Client(a, config).Handshake(); err == nil || !strings.Contains(err.Error(), "not 192.0.2.1") {
		t.Errorf("got %v", err)
	}
	a.Close()
}

// A file that cannot be used leaves the former in use, is reported once, and is used as soon as it can be.
func TestWhatCannotBeUsedReplacesNothing(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(e *end)
		want  string
	}{
		{"no certificate", func(e *end) { e.write(e.files.Cert, "half a certific") }, "failed to find any PEM data"},
		{"half a certificate", func(e *end) {
			raw, _ := os.ReadFile(e.files.Cert)
			e.write(e.files.Cert, string(raw[:len(raw)/2]))
		}, "failed to find any PEM data"},
		{"a certificate that is gone", func(e *end) { os.Remove(e.files.Cert) }, "no such file"},
		{"a key of another certificate", func(e *end) {
			_, key := e.ca.Issue(e.t, "other")
			e.copy(key, e.files.Key)
		}, "private key does not match"},
		{"an empty CA", func(e *end) { e.write(e.files.CA, "") }, "holds no PEM certificate"},
		{"a CA that is cut off", func(e *end) {
			raw, _ := os.ReadFile(e.files.CA)
			e.write(e.files.CA, string(raw)+string(raw[:len(raw)/2]))
		}, "ends in the middle"},
		{"a CRL of another CA", func(e *end) { pki.New(e.t).Revoke(e.t, e.files.CRL, time.Now().Add(time.Hour)) }, "no trusted CA has signed"},
		{"two CRLs of which one is damaged", func(e *end) {
			e.ca.Revoke(e.t, e.files.CRL, time.Now().Add(time.Hour))
			raw, err := os.ReadFile(e.files.CRL)
			if err != nil {
				e.t.Fatal(err)
			}
			e.write(e.files.CRL, strings.Replace(string(raw), "CRL-----\n", "CRL-----\n!", 1)+string(raw))
		}, "1 of 2 PEM blocks"},
		{"an empty CRL", func(e *end) { e.write(e.files.CRL, "") }, "there is no list in it"},
		{"a CA without the CRL's", func(e *end) { e.copy(pki.New(e.t).CA, e.files.CA) }, "no trusted CA has signed"},
		{"a certificate of tomorrow", func(e *end) { e.between(24*time.Hour, 48*time.Hour) }, "is not valid before"},
		{"a certificate of yesterday", func(e *end) { e.between(-48*time.Hour, -24*time.Hour) }, "expired at"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ca := pki.New(t)
			client, server := newEnd(t, ca, "controller", false), newEnd(t, ca, "router", true)
			before := server.serial()
			c.spoil(server)
			for range 3 {
				wantMeeting(t, client, server)
			}
			if server.serial() != before || server.log.count("certificates-refused") != 1 || !strings.Contains(server.log.b.String(), c.want) {
				t.Errorf("log:\n%s\nwant one line with %q", server.log.b.String(), c.want)
			}
			if testutil.ToFloat64(server.Credentials.metrics.refused) != 1 {
				t.Error("the metric does not say so")
			}
			server.copy(ca.CA, server.files.CA)
			ca.Revoke(t, server.files.CRL, time.Now().Add(time.Hour))
			server.renew("router")
			wantMeeting(t, client, server)
			if server.serial() == before || server.log.count("certificates-read") != 1 || testutil.ToFloat64(server.Credentials.metrics.refused) != 0 {
				t.Errorf("what was mended is not used:\n%s", server.log.b.String())
			}
		})
	}
}

// between replaces certificate and key by ones that are valid for other times.
func (e *end) between(from, until time.Duration) {
	e.t.Helper()
	cert, key := e.ca.IssueBetween(e.t, time.Now().Add(from), time.Now().Add(until), pkix.Name{CommonName: "router"}, "192.0.2.1")
	e.copy(cert, e.files.Cert)
	e.copy(key, e.files.Key)
}

// A certificate may be installed before it is valid; it is used from then on without another change.
func TestACertificateOfTomorrowIsUsedTomorrow(t *testing.T) {
	e := newEnd(t, pki.New(t), "router", false)
	before := e.serial()
	e.between(2*time.Hour, 48*time.Hour)
	e.Look()
	if e.serial() != before {
		t.Fatal("it is used too early")
	}
	e.ahead = 3 * time.Hour
	e.Look()
	if e.serial() == before {
		t.Error("it is not used")
	}
}

func TestWhatExpiresInUseIsReported(t *testing.T) {
	e := newEnd(t, pki.New(t), "router", true)
	for _, step := range []struct {
		ahead                   time.Duration
		expires, expired, stale int
	}{{0, 0, 0, 0}, {2 * time.Hour, 0, 0, 1}, {20 * time.Hour, 1, 0, 1}, {20 * time.Hour, 1, 0, 1}, {30 * time.Hour, 1, 1, 1}, {30 * time.Hour, 1, 1, 1}} {
		e.ahead = step.ahead
		e.Look()
		if a, b, c := e.log.count("certificate-expires"), e.log.count("certificate-expired"), e.log.count("crl-stale"); a != step.expires || b != step.expired || c != step.stale {
			t.Errorf("after %s: expires %d, expired %d, stale CRL %d; want %+v", step.ahead, a, b, c, step)
		}
	}
}

// A peer whose certificate was revoked is refused at the next handshake, also by a CRL that should have been replaced.
func TestRevokedPeersAreRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		due  time.Duration
	}{{"a present CRL", time.Hour}, {"an old CRL", -time.Minute}} {
		t.Run(c.name, func(t *testing.T) {
			ca := pki.New(t)
			client, server, other := newEnd(t, ca, "controller", true), newEnd(t, ca, "router", true), newEnd(t, ca, "other", false)
			wantMeeting(t, client, server)
			ca.Revoke(t, server.files.CRL, time.Now().Add(c.due), client.files.Cert)
			wantRefusal(t, client, server, "is revoked")
			wantRefusal(t, client, server, "is revoked")
			wantMeeting(t, other, server)
			if server.log.count("peer-revoked") != 1 || testutil.ToFloat64(server.Credentials.metrics.revoked) != 2 {
				t.Errorf("log:\n%s", server.log.b.String())
			}
			ca.Revoke(t, server.files.CRL, time.Now().Add(c.due))
			wantMeeting(t, client, server)
			ca.Revoke(t, client.files.CRL, time.Now().Add(c.due), server.files.Cert)
			wantRefusal(t, client, server, "is revoked")
		})
	}
}

// Without files there is no start; with an expired certificate there is, because nothing would be better.
func TestTheBeginning(t *testing.T) {
	ca := pki.New(t)
	cert, key := ca.Issue(t, "router")
	old, oldKey := ca.IssueBetween(t, time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour), pkix.Name{CommonName: "old"})
	for _, c := range []struct {
		name  string
		files Files
		want  string
	}{
		{"a file that is missing", Files{CA: ca.CA, Cert: "nowhere.pem", Key: key}, "nowhere.pem"},
		{"a CA that is a key", Files{CA: key, Cert: cert, Key: key}, "router.key holds no PEM certificate"},
		{"a key of another", Files{CA: ca.CA, Cert: cert, Key: oldKey}, "does not match"},
		{"a CRL that is a certificate", Files{CA: ca.CA, Cert: cert, Key: key, CRL: ca.CA}, "there is no list in it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := New(c.files, Dependencies{}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	var log buffer
	if _, err := New(Files{CA: ca.CA, Cert: old, Key: oldKey}, Dependencies{Log: slog.New(slog.NewTextHandler(&log, nil))}); err != nil || log.count("certificate-expired") != 1 {
		t.Errorf("%v, log: %s", err, log.b.String())
	}
}

// Handshakes and replacements at once, for the race detector.
func TestHandshakesWhileFilesChange(t *testing.T) {
	ca := pki.New(t)
	client, server := newEnd(t, ca, "controller", true), newEnd(t, ca, "router", true)
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() {
			for range 5 {
				if _, c, s := meet(t, client, server); c != nil || s != nil {
					t.Errorf("client: %v, server: %v", c, s)
				}
			}
		})
	}
	for range 5 {
		server.renew("router")
		server.Look()
	}
	running.Wait()
}
