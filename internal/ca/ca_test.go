package ca

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/mtls"
)

const day = 24 * time.Hour

var names = []string{"push", "alpha", "paths"}

// site is a CA and services that have its certificates.
type site struct {
	*Authority
	folder string
	serial map[string]bool
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{folder: t.TempDir(), serial: map[string]bool{}}
	var err error
	if s.Authority, err = Init(filepath.Join(s.folder, "ca"), 365*day, time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		s.issue(t, name)
	}
	return s
}

func (s *site) issue(t *testing.T, name string) {
	t.Helper()
	if _, err := s.Issue(filepath.Join(s.folder, name), Certificate{Names: []string{name + ".millrace"}, Life: day}, time.Now()); err != nil {
		t.Fatal(err)
	}
}

func (s *site) credentials(t *testing.T, name string) *mtls.Credentials {
	t.Helper()
	at := func(file string) string { return filepath.Join(s.folder, name, file) }
	c, err := mtls.New(mtls.Files{CA: at("ca.crt"), Cert: at("tls.crt"), Key: at("tls.key"), CRL: at("crl.pem"), CRLOverdue: mtls.RefuseOverdue}, mtls.Dependencies{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// call is a handshake in which both ends check each other, and an octet after it.
func call(from, to *mtls.Credentials, name string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	served := make(chan error, 1)
	go func() {
		far, err := l.Accept()
		if err == nil {
			_, err = tls.Server(far, to.Server(tls.RequireAndVerifyClientCert)).Write([]byte{1})
			far.Close()
		}
		served <- err
	}()
	near, err := tls.Dial("tcp", l.Addr().String(), from.Naming(name+".millrace"))
	if err == nil {
		_, err = near.Read(make([]byte, 1))
		near.Close()
	}
	if far := <-served; err == nil {
		err = far
	}
	return err
}

// A rotation refuses nobody: after every single file of every step, each service calls each other one.
func TestARotationUnderTrafficRefusesNobody(t *testing.T) {
	s := newSite(t)
	running := map[string]*mtls.Credentials{}
	for _, name := range names {
		running[name] = s.credentials(t, name)
	}
	calls := 0
	everybody := func(when string) {
		for _, from := range names {
			for _, to := range names {
				if from == to {
					continue
				}
				calls++
				if err := call(running[from], running[to], to); err != nil {
					t.Errorf("%s: %s calls %s: %v", when, from, to, err)
				}
			}
		}
	}
	before := running["push"].Own().Issuer.String()
	for _, want := range []Step{Announced, Switched, Finished} {
		step, err := s.Rotate(365*day, time.Now())
		if err != nil || step != want {
			t.Fatalf("%s, %v; want %s", step, err, want)
		}
		everybody(string(step))
		for _, name := range names {
			s.issue(t, name)
			everybody(string(step) + ", " + name + " has a new certificate")
		}
	}
	if after := running["push"].Own().Issuer.String(); after == before {
		t.Errorf("still signed by %s", after)
	}
	if trusted, err := s.trusted(); err != nil || len(trusted) != 1 {
		t.Errorf("%d CAs are trusted, %v", len(trusted), err)
	}
	t.Logf("%d calls", calls)
}

func TestFilesOfTheAuthority(t *testing.T) {
	s := newSite(t)
	for file, mode := range map[string]os.FileMode{"ca/ca.key": 0o600, "ca/ca.crt": 0o644, "push/tls.key": 0o600, "push/tls.crt": 0o644, "push/ca.crt": 0o644, "push/crl.pem": 0o644} {
		info, err := os.Stat(filepath.Join(s.folder, file))
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", file, info.Mode(), err)
		}
	}
	cert := s.credentials(t, "push").Own()
	if len(cert.SerialNumber.Bytes()) != 16 || cert.SerialNumber.Cmp(s.credentials(t, "alpha").Own().SerialNumber) == 0 {
		t.Errorf("serial number %x", cert.SerialNumber)
	}
	if cert.PublicKeyAlgorithm != x509.ECDSA || cert.IsCA || cert.NotAfter.Sub(time.Now()) > day {
		t.Errorf("%v until %s", cert.PublicKeyAlgorithm, cert.NotAfter)
	}
	if left, err := filepath.Glob(filepath.Join(s.folder, "*", ".new*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestRefusals(t *testing.T) {
	s := newSite(t)
	_, again := Init(filepath.Join(s.folder, "ca"), day, time.Now())
	_, long := s.Issue(filepath.Join(s.folder, "x"), Certificate{Names: []string{"x.millrace"}, Life: 400 * day}, time.Now())
	_, none := Open(t.TempDir())
	if err := os.Chmod(s.at(keyFile), 0o640); err != nil {
		t.Fatal(err)
	}
	_, open := Open(s.Authority.folder)
	for says, err := range map[string]error{"is there already": again, "rotate the CA": long, "millrace ca init": none, "can be read by others": open} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
	}
}
