package state_test

import (
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/authpb"

	"github.com/millrace/millrace/internal/testkit/await"
)

// TestARightThatComesLater: readiness names the right that a user does not have, and the user has it as soon as it is
// granted, without a new connection. Reading alone is not enough.
func TestARightThatComesLater(t *testing.T) {
	a, s := newAccount(t, "/others/")
	says := func(when string) {
		t.Helper()
		err := s.Ready(t.Context())
		if err == nil || !strings.Contains(err.Error(), "etcd refuses user millrace the keys below /millrace/") || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("%s: %v", when, err)
		}
	}
	ready := func(when string) {
		t.Helper()
		if err := s.Ready(t.Context()); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	says("without any right")
	a.server.Grant(t, "millrace", authpb.READ, "/millrace/")
	says("with the right to read")
	a.server.Grant(t, "millrace", authpb.READWRITE, "/millrace/")
	ready("with both")
	changes := watched(t, s, "kept/")
	put(t, s, "kept/a")
	await.Value(t, "a change", changes)
	a.server.Revoke(t, "millrace", "/millrace/")
	says("after it was taken away")
	a.server.Grant(t, "millrace", authpb.READ, "/millrace/")
	says("with a part of it again")
	a.server.Grant(t, "millrace", authpb.READWRITE, "/millrace/")
	ready("after it was granted again")
	put(t, s, "kept/b")
	if key := await.Value(t, "a change that the watch of before sees", changes); key != "kept/b" {
		t.Errorf("%s changed", key)
	}
	if n, err := s.Keys(t.Context(), ""); err != nil || len(n) != 2 {
		t.Errorf("asking has written: %v, %v", n, err)
	}
}

// A right that is taken away while it was known is noticed by the first write that etcd refuses.
func TestARightThatIsTakenAwayIsNoticed(t *testing.T) {
	a, s := newAccount(t, "/millrace/")
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.server.Revoke(t, "millrace", "/millrace/")
	a.server.Grant(t, "millrace", authpb.READ, "/millrace/")
	if _, err := s.Put(t.Context(), "a", 0, nil); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("written: %v", err)
	}
	if err := s.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "etcd refuses user millrace the keys below /millrace/") {
		t.Errorf("not noticed: %v", err)
	}
}
