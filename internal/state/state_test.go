package state_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/millrace/millrace/internal/filelock"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/etcd"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
)

func TestMain(m *testing.M) { os.Exit(etcd.Main(m)) }

func start(t *testing.T, dir string) *state.Embedded {
	t.Helper()
	e := state.NewEmbedded(dir, state.UnsafeNoFsync)
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e
}

func value(text string) *eventv1.Event { return &eventv1.Event{Text: text} }

func TestStore(t *testing.T) {
	s := etcd.Shared(t)
	t.Run("what was put is read back with its revision", func(t *testing.T) {
		revision, err := s.Put(t.Context(), "read/1", 0, value("one"))
		if err != nil {
			t.Fatal(err)
		}
		got := &eventv1.Event{}
		read, err := s.Get(t.Context(), "read/1", got)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(got, value("one"), protocmp.Transform()); d != "" || read != revision {
			t.Errorf("revision %d, want %d; value (-got +want):\n%s", read, revision, d)
		}
	})
	t.Run("a key nobody wrote is not found", func(t *testing.T) {
		if _, err := s.Get(t.Context(), "nothing", &eventv1.Event{}); !errors.Is(err, state.ErrNotFound) {
			t.Errorf("got %v, want ErrNotFound", err)
		}
	})
	t.Run("compare-and-set lets one writer win", func(t *testing.T) { oneWins(t, s) })
	t.Run("stale and blind writes conflict", func(t *testing.T) { conflicts(t, s) })
	t.Run("apply writes and deletes at once", func(t *testing.T) { applies(t, s) })
	t.Run("apply that fails writes nothing", func(t *testing.T) { appliesNothing(t, s) })
	t.Run("list is in key order and stays below its prefix", func(t *testing.T) { lists(t, s) })
	t.Run("last is the key that sorts last below its prefix", func(t *testing.T) { last(t, s) })
	t.Run("delete below a prefix keeps what is below another", func(t *testing.T) { deletesBelow(t, s) })
	t.Run("a store within a prefix sees nothing else", func(t *testing.T) { within(t, s) })
	t.Run("a value of another type is an error", func(t *testing.T) {
		if _, err := s.Put(t.Context(), "broken", 0, wrapperspb.Bytes([]byte("\xff\xff"))); err != nil { // an Event's first field is text
			t.Fatal(err)
		}
		if _, err := s.Get(t.Context(), "broken", &eventv1.Event{}); err == nil || !strings.Contains(err.Error(), "decode broken") {
			t.Errorf("got %v, want an error that names the key", err)
		}
	})
}

func oneWins(t *testing.T, s *state.Store) {
	const writers = 8
	first, err := s.Put(t.Context(), "race", 0, value("start"))
	if err != nil {
		t.Fatal(err)
	}
	errs := make([]error, writers)
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() { _, errs[i] = s.Put(t.Context(), "race", first, value(fmt.Sprint(i))) })
	}
	all.Wait()
	won := 0
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, state.ErrConflict):
			t.Errorf("got %v, want ErrConflict", err)
		}
	}
	if won != 1 {
		t.Errorf("%d of %d writers with the same revision won, want 1", won, writers)
	}
}

func conflicts(t *testing.T, s *state.Store) {
	old, err := s.Put(t.Context(), "cas", 0, value("one"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), "cas", old, value("two")); err != nil {
		t.Fatal(err)
	}
	for name, revision := range map[string]int64{"must not exist": 0, "stale": old} {
		if _, err := s.Put(t.Context(), "cas", revision, value("three")); !errors.Is(err, state.ErrConflict) {
			t.Errorf("%s: got %v, want ErrConflict", name, err)
		}
	}
	got := &eventv1.Event{}
	if _, err := s.Get(t.Context(), "cas", got); err != nil || got.GetText() != "two" {
		t.Errorf("got %q, %v; want what was written before the conflicts", got.GetText(), err)
	}
}

func applies(t *testing.T, s *state.Store) {
	if _, err := s.Put(t.Context(), "apply/old", 0, value("old")); err != nil {
		t.Fatal(err)
	}
	err := s.Apply(t.Context(),
		state.Op{Key: "apply/old"},
		state.Op{Key: "apply/a", Value: value("a")},
		state.Op{Key: "apply/b", Value: value("b")},
	)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(keys(t, s, "apply/"), []string{"apply/a", "apply/b"}); d != "" {
		t.Errorf("keys (-got +want):\n%s", d)
	}
	entries, err := s.List(t.Context(), "apply/")
	if err != nil {
		t.Fatal(err)
	}
	if entries[0].Revision != entries[1].Revision {
		t.Errorf("revisions %d and %d of one transaction differ", entries[0].Revision, entries[1].Revision)
	}
}

func appliesNothing(t *testing.T, s *state.Store) {
	err := s.Apply(t.Context(),
		state.Op{Key: "twice", Value: value("a")},
		state.Op{Key: "beside", Value: value("b")},
		state.Op{Key: "twice", Value: value("c")}, // etcd refuses a key twice in one transaction
	)
	if err == nil {
		t.Error("got no error for a key written twice")
	}
	if got := keys(t, s, "beside"); len(got) != 0 {
		t.Errorf("%v was written by a transaction that failed", got)
	}
}

func lists(t *testing.T, s *state.Store) {
	for _, k := range []string{"list/b", "list/a", "list/c", "listing"} {
		if _, err := s.Put(t.Context(), k, 0, value(k)); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(keys(t, s, "list/"), []string{"list/a", "list/b", "list/c"}); d != "" {
		t.Errorf("keys (-got +want):\n%s", d)
	}
	if got := keys(t, s, "nobody/"); len(got) != 0 {
		t.Errorf("below a prefix nobody used: %v", got)
	}
}

func last(t *testing.T, s *state.Store) {
	if _, err := s.Last(t.Context(), "last/"); !errors.Is(err, state.ErrNotFound) {
		t.Errorf("below a prefix nobody used: got %v, want ErrNotFound", err)
	}
	for _, k := range []string{"last/09", "last/10", "last/02", "last0"} {
		if _, err := s.Put(t.Context(), k, 0, value(k)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Last(t.Context(), "last/")
	if err != nil {
		t.Fatal(err)
	}
	m := &eventv1.Event{}
	if err := proto.Unmarshal(got.Value, m); err != nil || got.Key != "last/10" || m.GetText() != "last/10" || got.Revision == 0 {
		t.Errorf("got %v with %q (%v), want last/10 and its revision", got, m.GetText(), err)
	}
}

func deletesBelow(t *testing.T, s *state.Store) {
	for _, k := range []string{"runs", "runs/a/1", "runs/b/1", "runs/b/2", "runs/bb/1", "runs/c/1", "runs0"} {
		if _, err := s.Put(t.Context(), k, 0, value(k)); err != nil {
			t.Fatal(err)
		}
	}
	revision, err := s.Put(t.Context(), "guard", 0, value("guard"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteBelow(t.Context(), "runs/a/", "guard", revision-1); !errors.Is(err, state.ErrConflict) {
		t.Errorf("error %v while the guard has changed, want ErrConflict", err)
	}
	if err := s.DeleteBelow(t.Context(), "runs/b/", "guard", revision); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(keys(t, s, "runs"), []string{"runs", "runs/a/1", "runs/bb/1", "runs/c/1", "runs0"}); d != "" {
		t.Errorf("keys (-got +want):\n%s", d)
	}
}

func within(t *testing.T, s *state.Store) {
	inner := s.Within("test1/")
	if _, err := inner.Put(t.Context(), "key", 0, value("inner")); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(keys(t, inner, ""), []string{"key"}); d != "" {
		t.Errorf("keys of the inner store (-got +want):\n%s", d)
	}
	if d := cmp.Diff(keys(t, s, "test1/"), []string{"test1/key"}); d != "" {
		t.Errorf("keys of the outer store (-got +want):\n%s", d)
	}
}

// keys also checks that each entry's value is the message that was put.
func keys(t *testing.T, s *state.Store, prefix string) []string {
	t.Helper()
	entries, err := s.List(t.Context(), prefix)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		if err := proto.Unmarshal(e.Value, &eventv1.Event{}); err != nil {
			t.Error(err)
		}
		out = append(out, e.Key)
	}
	return out
}

func TestEmbeddedKeepsDataOverARestart(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		e := start(t, dir)
		if got := len(keys(t, e.Store(), "kept/")); got != i {
			t.Fatalf("start %d: got %d keys, want %d", i+1, got, i)
		}
		if _, err := e.Store().Put(t.Context(), fmt.Sprintf("kept/%d", i), 0, value("kept")); err != nil {
			t.Fatal(err)
		}
		if err := e.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// An etcd that ends by itself is reported; one that is stopped is not.
func TestEmbeddedTellsOfItsEnd(t *testing.T) {
	ended, stopped := start(t, t.TempDir()), start(t, t.TempDir())
	if err := ended.Store().Ready(t.Context()); err != nil {
		t.Errorf("an etcd that runs: %v, want it ready", err)
	}
	failed := stopped.Failed()
	if err := stopped.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	state.Kill(ended)
	if err := await.Value(t, "the end is told", ended.Failed()); err == nil {
		t.Error("an end without an error")
	}
	if err := ended.Store().Ready(t.Context()); err == nil {
		t.Error("an etcd that has ended is ready")
	}
	select {
	case err := <-failed:
		t.Errorf("an etcd that was stopped: %v", err)
	default:
	}
}

func TestEmbeddedRefusesADirectoryInUse(t *testing.T) {
	dir := t.TempDir()
	first := start(t, dir)
	second := state.NewEmbedded(dir)
	if err := second.Start(t.Context()); !errors.Is(err, filelock.ErrHeld) || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v, want ErrHeld with the directory", err)
	}
	if err := second.Stop(t.Context()); err != nil {
		t.Errorf("stop of what did not start: %v", err)
	}
	if _, err := first.Store().Put(t.Context(), "still", 0, value("works")); err != nil {
		t.Errorf("the first one after the attempt: %v", err)
	}
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	start(t, dir)
}

func TestEmbeddedIsReachedByItsSocketAndByNobodyElse(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	e := start(t, dir)
	other, err := state.Dial([]string{e.Endpoint()})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Put(t.Context(), "from/elsewhere", 0, value("x")); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(keys(t, e.Store(), "from/"), []string{"from/elsewhere"}); d != "" {
		t.Errorf("keys (-got +want):\n%s", d)
	}
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o700 {
		t.Errorf("mode of the folder that holds the socket: got %o, want 700", got)
	}
}

func TestEmbeddedTakesADirectoryTooDeepForASocket(t *testing.T) {
	e := start(t, filepath.Join(t.TempDir(), strings.Repeat("x", 100)))
	other, err := state.Dial([]string{e.Endpoint()})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Put(t.Context(), "key", 0, value("x")); err != nil {
		t.Error(err)
	}
	folder := filepath.Dir(strings.TrimPrefix(e.Endpoint(), "unix://"))
	if err := e.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("%s after Stop: got %v, want it gone", folder, err)
	}
}

func TestEmbeddedStartErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, dir, want string }{
		{"the directory is a file", file, "create state directory"},
		{"the directory cannot be made", "/proc/nowhere", "create state directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := state.NewEmbedded(c.dir)
			if err := e.Start(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if err := e.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
