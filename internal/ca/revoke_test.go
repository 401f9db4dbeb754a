package ca

import (
	"crypto/x509"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// revoke puts a service's certificate on the list, and hands the list to all others.
func (s *site) revoke(t *testing.T, name string, others ...string) {
	t.Helper()
	if _, err := s.Revoke(Revoked{Certificates: []*x509.Certificate{s.credentials(t, name).Own()}}, day, time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, other := range others {
		s.issue(t, other)
	}
}

// TestARevokedCertificateIsRefused also between the steps of a rotation, where two CAs have signed certificates in use.
func TestARevokedCertificateIsRefused(t *testing.T) {
	s := newSite(t)
	if _, err := s.Rotate(365*day, time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		s.issue(t, name)
	}
	if err := os.CopyFS(filepath.Join(s.folder, "thief"), os.DirFS(filepath.Join(s.folder, "push"))); err != nil {
		t.Fatal(err)
	}
	stolen := s.credentials(t, "thief")
	wants := func(when string, refused bool) {
		t.Helper()
		if err := call(stolen, s.credentials(t, "alpha"), "alpha"); (err != nil) != refused {
			t.Errorf("%s: %v, want refused %v", when, err, refused)
		}
		if err := call(s.credentials(t, "paths"), s.credentials(t, "alpha"), "alpha"); err != nil {
			t.Errorf("%s: another service is refused: %v", when, err)
		}
	}
	wants("before", false)
	if _, err := s.Rotate(365*day, time.Now()); err != nil {
		t.Fatal(err)
	}
	s.issue(t, "alpha")
	s.issue(t, "paths")
	wants("switched", false)
	s.revoke(t, "push", "alpha", "paths")
	wants("revoked", true)
	s.issue(t, "push")
	if err := call(s.credentials(t, "push"), s.credentials(t, "alpha"), "alpha"); err != nil {
		t.Errorf("with a new certificate: %v", err)
	}
	if _, err := s.Rotate(365*day, time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.at(formerFile)); !os.IsNotExist(err) {
		t.Errorf("the former key is kept: %v", err)
	}
	s.issue(t, "alpha")
	s.issue(t, "paths")
	wants("finished", true)
}

// TestListsGrow: what was revoked stays so, numbers rise, and a certificate is on the list once.
func TestListsGrow(t *testing.T) {
	s := newSite(t)
	for i, c := range []struct {
		r    Revoked
		want int
	}{
		{Revoked{Serials: []*big.Int{big.NewInt(7)}}, 1},
		{Revoked{}, 1},
		{Revoked{Certificates: []*x509.Certificate{s.credentials(t, "push").Own()}, Serials: []*big.Int{big.NewInt(7)}}, 2},
		{Revoked{Certificates: []*x509.Certificate{s.credentials(t, "push").Own()}}, 2},
	} {
		total, err := s.Revoke(c.r, day, time.Now())
		if err != nil || total != c.want {
			t.Errorf("step %d: %d revoked, %v; want %d", i, total, err, c.want)
		}
	}
	lists, err := s.lists()
	if err != nil || len(lists) != 1 {
		t.Fatal(lists, err)
	}
	if n := lists[0].Number.Int64(); n != 5 { // one of Init
		t.Errorf("number %d", n)
	}
	if left := time.Until(lists[0].NextUpdate); left > day || left < day/2 {
		t.Errorf("to be replaced in %s", left)
	}
}

// TestListsThatAreNotSigned: a list that was lost would let in who was on it.
func TestListsThatAreNotSigned(t *testing.T) {
	s, other := newSite(t), newSite(t)
	_, foreign := s.Revoke(Revoked{Certificates: []*x509.Certificate{other.credentials(t, "push").Own()}}, day, time.Now())
	if err := os.WriteFile(filepath.Join(s.Authority.folder, List), []byte("half a li"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, cut := s.Revoke(Revoked{}, day, time.Now())
	for says, err := range map[string]error{"is of another CA": foreign, "put back the last one": cut} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
	}
}
