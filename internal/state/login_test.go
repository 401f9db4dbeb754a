package state_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/mtls"
	"github.com/millrace/millrace/internal/secretfile"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/etcd"
	"github.com/millrace/millrace/internal/testkit/pki"
	"github.com/millrace/millrace/internal/testkit/program"
	"github.com/millrace/millrace/internal/testkit/wholefile"
)

// account is a user of an etcd, and the file that has its password.
type account struct {
	t      *testing.T
	server *etcd.Server
	file   string
}

// tokenLife is how many seconds a token lasts that is not used: no test waits so long, but that of their end.
const tokenLife = 300

func newAccount(t *testing.T, prefix string) (account, *state.Store) {
	t.Helper()
	a := account{t, etcd.Start(t, program.OwnHost(), etcd.Tokens(tokenLife)), filepath.Join(t.TempDir(), "password")}
	a.server.Users(t, "millrace", "first secret", prefix)
	a.write("first secret")
	return a, a.dial()
}

func (a account) write(password string) {
	a.t.Helper()
	wholefile.Write(a.t, a.file, password+"\n")
}

func (a account) dial(options ...state.DialOption) *state.Store {
	a.t.Helper()
	s, err := state.Dial([]string{a.server.URL}, append(options, state.As("millrace", func() (string, error) { return secretfile.Read(a.file) }))...)
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { s.Close() })
	return s
}

// watched receives what is written below a prefix. The watch is open for certain once a change came.
func watched(t *testing.T, s *state.Store, prefix string) <-chan string {
	t.Helper()
	_, after, err := s.Snapshot(t.Context(), prefix)
	if err != nil {
		t.Fatal(err)
	}
	out := make(chan string, 100)
	go func() {
		for batch, err := range s.Watch(t.Context(), prefix, after) {
			if err != nil {
				if t.Context().Err() == nil {
					t.Errorf("a watch of %s ends: %v", prefix, err)
				}
				return
			}
			for _, c := range batch.Changes {
				out <- c.Key
			}
		}
	}()
	return out
}

func put(t *testing.T, s *state.Store, key string) {
	t.Helper()
	if _, err := s.Put(t.Context(), key, 0, wrapperspb.String("text")); err != nil {
		t.Errorf("write %s: %v", key, err)
	}
}

// TestAUserOfEtcd: everything that the store does, by a user with a role for its keys, while its tokens end.
func TestAUserOfEtcd(t *testing.T) {
	a, s := newAccount(t, "/millrace/")
	first := watched(t, s, "first/")
	put(t, s, "first/a")
	await.Value(t, "a change", first)
	held := func(ctx context.Context, key string, life time.Duration) *state.Lock {
		l, err := s.Lock(ctx, "owner", life, key)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	held(t.Context(), "locks/first", long).Release() // opens the stream that leases are renewed over
	a.server.EndTokens(t)
	dying, die := context.WithCancel(t.Context())
	defer die()
	lock := held(t.Context(), "locks/kept", 3*time.Second)
	held(dying, "locks/dying", 6*time.Second)
	a.server.EndTokens(t)
	die()
	await.True(t, "a lock expires that is not renewed, and was to last longer", func() bool { return len(lockedKeys(t, s, "locks/dying")) == 0 })
	if err := lock.Check(t.Context()); err != nil {
		t.Errorf("a lock that is renewed after the end of tokens: %v", err)
	}
	lock.Release()
	put(t, s, "first/b")
	if key := await.Value(t, "a change that the first watch sees", first); key != "first/b" {
		t.Errorf("%s changed", key)
	}
	second := watched(t, s, "second/") // begun while the first goes on, whose token ended
	put(t, s, "second/a")
	await.Value(t, "a change that a later watch sees", second)
	if err := s.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := s.Size(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.MakeRoom(t.Context()); err == nil || !strings.Contains(err.Error(), "only etcd's root may") {
		t.Errorf("what is root's: %v", err)
	}
}

func TestAnEtcdThatWantsAnotherPassword(t *testing.T) {
	a, s := newAccount(t, "/millrace/")
	put(t, s, "a")
	changes := watched(t, s, "kept/")
	put(t, s, "kept/before")
	await.Value(t, "a change before the password is another", changes)
	a.server.SetPassword(t, "millrace", "second secret")
	a.server.EndTokens(t)
	err := s.Ready(t.Context())
	if err == nil || !strings.Contains(err.Error(), "log in to etcd as millrace") || !strings.Contains(err.Error(), "invalid user ID or password") || strings.Contains(err.Error(), "secret") {
		t.Errorf("with the password of before: %v", err)
	}
	if err := os.Remove(a.file); err != nil {
		t.Fatal(err)
	}
	if err := s.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), a.file) {
		t.Errorf("without the file: %v", err)
	}
	a.write("second secret")
	if err := s.Ready(t.Context()); err != nil {
		t.Errorf("with the password of now: %v", err)
	}
	put(t, s, "kept/a")
	if key := await.Value(t, "a change", changes); key != "kept/a" {
		t.Errorf("%s changed", key)
	}
}

func TestAStoreIsThereBeforeItsEtcdAndItsPassword(t *testing.T) {
	a, _ := newAccount(t, "/millrace/")
	a.server.Stop()
	a.write("wrong secret")
	s := a.dial()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := s.Ready(ctx); err == nil {
		t.Error("an etcd that is away answers")
	}
	a.server.Again(t)
	if err := s.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "log in to etcd as millrace") {
		t.Errorf("with a wrong password: %v", err)
	}
	a.write("first secret")
	put(t, s, "a")
}

func TestAForeignPrefix(t *testing.T) {
	_, s := newAccount(t, "/millrace/te1/")
	put(t, s.Within("te1/"), "a")
	if _, err := s.Put(t.Context(), "other", 0, wrapperspb.String("text")); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("a key of others: %v", err)
	}
	for _, err := range s.Watch(t.Context(), "other/", 0) {
		if err == nil || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("a watch of others' keys: %v", err)
		}
	}
	if _, err := s.Lock(t.Context(), "owner", long, "locks/a"); err == nil || errors.As(err, new(*state.HeldError)) {
		t.Errorf("a lock of others: %v", err)
	}
}

// Compaction is root's: a keeper whose user is none leaves it, and says so once.
func TestAKeeperWhoseUserMayNotCompact(t *testing.T) {
	_, s := newAccount(t, "/millrace/")
	b := bus.NewMemory()
	defer b.Close()
	var text strings.Builder
	log, now := slog.New(slog.NewTextHandler(&text, nil)), time.Unix(0, 0)
	k := state.NewClusterKeeper(s, 1, func() time.Time { return now }, events.NewPublisher(b, log), log, prometheus.NewRegistry())
	for range 3 {
		put(t, s, "key/"+now.String())
		now = now.Add(time.Hour)
		if err := k.Look(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if n := strings.Count(text.String(), "may not compact"); n != 1 {
		t.Errorf("said %d times, want once:\n%s", n, text.String())
	}
}

// A user over TLS needs no certificate of its own where etcd demands none.
func TestAUserWithoutACertificate(t *testing.T) {
	ca := pki.New(t)
	cert, key := ca.Issue(t, "etcd", program.OwnHost())
	server := etcd.Start(t, program.OwnHost(), etcd.Tokens(tokenLife), etcd.ServerTLS(cert, key))
	server.Users(t, "millrace", "secret", "/millrace/")
	for name, c := range map[string]struct {
		ca   string
		says string
	}{"its CA": {ca.CA, ""}, "another CA": {pki.New(t).CA, "certificate signed by unknown authority"}} {
		t.Run(name, func(t *testing.T) {
			credentials, err := mtls.NewAnonymous(c.ca, "", mtls.Dependencies{})
			if err != nil {
				t.Fatal(err)
			}
			s, err := state.Dial([]string{server.URL}, state.WithTLS(credentials.Client()), state.As("millrace", func() (string, error) { return "secret", nil }))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
			if c.says != "" {
				ctx, cancel = context.WithTimeout(t.Context(), time.Second) // the client goes on trying
			}
			defer cancel()
			if err := s.Ready(ctx); (err == nil) != (c.says == "") {
				t.Errorf("got %v, want %q", err, c.says)
			} else {
				t.Log(err)
			}
		})
	}
}
