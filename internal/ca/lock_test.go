package ca

import (
	"math/big"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/await"
)

// TestNoRevocationIsLost when several commands run at once, a rotation among them: that of the former CA has all.
func TestNoRevocationIsLost(t *testing.T) {
	s := newSite(t)
	const revocations = 24
	var all sync.WaitGroup
	do := func(f func() error) {
		all.Go(func() {
			if err := f(); err != nil {
				t.Error(err)
			}
		})
	}
	for i := range revocations {
		do(func() error {
			_, err := s.Revoke(Revoked{Serials: []*big.Int{big.NewInt(int64(i + 1))}}, day, time.Now())
			return err
		})
	}
	for range 2 {
		do(func() error { _, err := s.Rotate(365*day, time.Now()); return err })
	}
	all.Wait()
	lists, err := s.lists()
	if err != nil || len(lists) != 2 {
		t.Fatal(lists, err)
	}
	if n := len(lists[1].RevokedCertificateEntries); n != revocations {
		t.Errorf("%d revoked, want %d", n, revocations)
	}
}

// TestIssueWaits for who changes the folder: it hands out what is there then.
func TestIssueWaits(t *testing.T) {
	s := newSite(t)
	unlock, err := s.lock()
	if err != nil {
		t.Fatal(err)
	}
	issued := make(chan error, 1)
	go func() {
		_, err := s.Issue(filepath.Join(s.folder, "new"), Certificate{Names: []string{"new"}, Life: day}, time.Now())
		issued <- err
	}()
	if _, err := s.list(Revoked{Serials: []*big.Int{big.NewInt(7)}}, day, time.Now(), keyFile); err != nil {
		t.Fatal(err)
	}
	unlock()
	if err := await.Value(t, "the certificate", issued); err != nil {
		t.Fatal(err)
	}
	lists, err := (&Authority{filepath.Join(s.folder, "new")}).lists()
	if err != nil || len(lists) != 1 || len(lists[0].RevokedCertificateEntries) != 1 {
		t.Errorf("%v, %v", lists, err)
	}
}
