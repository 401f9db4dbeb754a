package state_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/etcd"
)

func TestCommit(t *testing.T) {
	s := etcd.Shared(t)
	first, err := s.Commit(t.Context(), []state.Guard{{Key: "version"}, {Key: "request"}},
		state.Op{Key: "version", Value: value("1")}, state.Op{Key: "booking", Value: value("a")})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		guards []state.Guard
		want   state.ConflictError
	}{
		"a key that should not be there": {[]state.Guard{{Key: "request"}, {Key: "version"}}, state.ConflictError{Key: "version", Revision: first}},
		"a key that was not there":       {[]state.Guard{{Key: "request", Revision: 7}}, state.ConflictError{Key: "request"}},
		"a key at another revision":      {[]state.Guard{{Key: "version", Revision: first - 1}}, state.ConflictError{Key: "version", Revision: first}},
	} {
		_, err := s.Commit(t.Context(), c.guards, state.Op{Key: "booking", Value: value("b")}, state.Op{Key: "more", Value: value("b")})
		var conflict *state.ConflictError
		if !errors.As(err, &conflict) || *conflict != c.want || !errors.Is(err, state.ErrConflict) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	second, err := s.Commit(t.Context(), []state.Guard{{Key: "version", Revision: first}}, state.Op{Key: "booking"}, state.Op{Key: "more", Value: value("c")})
	if err != nil || second <= first {
		t.Fatalf("revision %d after %d: %v", second, first, err)
	}
	if d := cmp.Diff(keys(t, s, ""), []string{"more", "version"}); d != "" {
		t.Errorf("keys (-got +want):\n%s", d)
	}
}

// A snapshot and a watch from its revision together yield everything, once.
func TestSnapshotAndWatch(t *testing.T) {
	s := etcd.Shared(t)
	const many = 2500 // more than two pages
	ops := make([]state.Op, 0, 100)
	for i := range many {
		ops = append(ops, state.Op{Key: fmt.Sprintf("seen/%04d", i), Value: value("x")})
		if len(ops) == cap(ops) {
			if err := s.Apply(t.Context(), ops...); err != nil {
				t.Fatal(err)
			}
			ops = ops[:0]
		}
	}
	entries, revision, err := s.Snapshot(t.Context(), "seen/")
	if err != nil || len(entries) != many || entries[0].Key != "seen/0000" || entries[many-1].Key != "seen/2499" {
		t.Fatalf("%d entries: %v", len(entries), err)
	}
	if _, err := s.Commit(t.Context(), nil, state.Op{Key: "seen/0000"}, state.Op{Key: "seen/new", Value: value("y")}, state.Op{Key: "other", Value: value("z")}); err != nil {
		t.Fatal(err)
	}
	last, err := s.Commit(t.Context(), nil, state.Op{Key: "seen/0001", Value: value("z")})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for b, err := range s.Watch(t.Context(), "seen/", revision) {
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range b.Changes {
			got = append(got, fmt.Sprint(c.Key, " ", c.Deleted))
		}
		if b.Revision == last {
			break
		}
	}
	if d := cmp.Diff(got, []string{"seen/0000 true", "seen/new false", "seen/0001 false"}); d != "" {
		t.Errorf("changes (-got +want):\n%s", d)
	}
}

func TestAWatchEndsWithItsContextAndWithWhatIsCompacted(t *testing.T) {
	s := etcd.Shared(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for b, err := range s.Watch(ctx, "x/", 1) {
		t.Errorf("%v %v after the context ended", b, err)
	}
	for range 3 { // so that revision 1 is not the newest, whichever test is the first of the server's
		if _, err := s.Commit(t.Context(), nil, state.Op{Key: "written", Value: value("x")}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	told := false
	for _, err := range s.Watch(t.Context(), "x/", 1) {
		if err == nil {
			t.Error("a watch from before the compaction tells something")
		}
		told = err != nil
	}
	if !told {
		t.Error("the watch ended without an error")
	}
}
