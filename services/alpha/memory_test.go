package alpha

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/state"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
)

// TestASweepAfterAnotherNightlyRunSweepsNothing: the pairs of the other are in force.
func TestASweepAfterAnotherNightlyRunSweepsNothing(t *testing.T) {
	store := etcd(t)
	one, two := newRigOn(t, DefaultConfiguration(), store), newRigOn(t, DefaultConfiguration(), store)
	one.flow(wr, "10.1.0.5", "10.2.0.9", noon, 2e9)
	one.nightly(t, nightlyRun())
	stale, err := one.c.memory().read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	two.flow(wr, "10.1.0.5", "10.3.0.9", noon, 2e9)
	two.nightly(t, nightlyRun())
	if err := one.c.memory().sweep(t.Context(), stale); err != nil {
		t.Fatal(err)
	}
	if got := len(one.list(t)); got != 2 {
		t.Errorf("%d pairs in force, want 2", got)
	}
}

// TestASweepLeavesWhatAnotherReplicaIsWriting: that generation may be in force next. What an interrupted run left
// cannot be.
func TestASweepLeavesWhatAnotherReplicaIsWriting(t *testing.T) {
	r := newRig(t, nil)
	m := r.c.memory()
	write := func(id string) {
		t.Helper()
		if err := m.store.Apply(t.Context(), state.Op{Key: keyPairs + id + "/p", Value: &alphav1.Pair{Id: "p"}}); err != nil {
			t.Fatal(err)
		}
	}
	write("interrupted")
	r.flow(wr, "10.1.0.5", "10.2.0.9", noon, 2e9)
	r.nightly(t, nightlyRun())
	in, err := m.read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	write("other")
	if err := m.sweep(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if _, err := m.store.Put(t.Context(), keyCurrent, in.revision, &alphav1.Generation{Id: "other"}); err != nil {
		t.Fatal(err)
	}
	if got := len(r.list(t)); got != 1 {
		t.Errorf("%d pairs in force, want the other's", got)
	}
	if left, err := m.list(t.Context(), "interrupted"); err != nil || len(left) != 0 {
		t.Errorf("%d left by an interrupted run (%v), want none", len(left), err)
	}
}

// TestARunWhosePairsAreInForceHasNotFailed: etcd has put them in force, and its answer did not come, or what they
// replaced stays a while longer.
func TestARunWhosePairsAreInForceHasNotFailed(t *testing.T) {
	for name, broken := range map[string]func(key string, write bool) state.Fault{
		"the answer is lost": func(key string, write bool) state.Fault {
			if key == keyCurrent && write {
				return state.AnswerLost
			}
			return state.None
		},
		"how far was judged is not noted": func(key string, write bool) state.Fault {
			if key == keySchedule && write {
				return state.Refused
			}
			return state.None
		},
		"nothing is swept": func(key string, write bool) state.Fault {
			if key == keyPairs && !write {
				return state.Refused
			}
			return state.None
		},
	} {
		t.Run(name, func(t *testing.T) {
			var once atomic.Bool
			r := newRigOn(t, DefaultConfiguration(), etcd(t).WithFaults(func(key string, value []byte) state.Fault {
				fault := broken(key, value != nil)
				if fault == state.None || !once.CompareAndSwap(false, true) {
					return state.None
				}
				return fault
			}))
			r.flow(wr, "10.1.0.5", "10.2.0.9", noon, 2e9)
			out := r.nightly(t, nightlyRun())
			if len(out.GetAdded()) != 1 || out.GetChangeId() != "change-1" || len(r.list(t)) != 1 || !once.Load() {
				t.Errorf("added %v, change set %q, in force %v", endsOf(out.GetAdded()), out.GetChangeId(), endsOf(r.list(t)))
			}
			r.heard(t, "pair-found")
			r.flow(wr, "10.1.0.5", "10.3.0.9", noon, 2e9)
			r.nightly(t, nightlyRun())
			if all, err := r.c.deps.State.Keys(t.Context(), keyPairs); err != nil || len(all) != 2 {
				t.Errorf("%d pairs are stored after the next run (%v), want the two in force", len(all), err)
			}
		})
	}
}

// TestARunThatIsBrokenOffTellsOfPairsInForce: its client went, or the process stops, while etcd put them in force.
func TestARunThatIsBrokenOffTellsOfPairsInForce(t *testing.T) {
	ctx, breakOff := context.WithCancel(t.Context())
	var lost atomic.Bool
	r := newRigOn(t, DefaultConfiguration(), etcd(t).WithFaults(func(key string, value []byte) state.Fault {
		switch {
		case key == keyCurrent && value != nil && lost.CompareAndSwap(false, true):
			return state.AnswerLost
		case lost.Load():
			breakOff()
		}
		return state.None
	}))
	r.flow(wr, "10.1.0.5", "10.2.0.9", noon, 2e9)
	var asking *undeliveredError
	if _, err := r.c.run(ctx, nightlyRun()); !errors.As(err, &asking) {
		t.Fatalf("got %v, want that no change set was created", err)
	}
	r.heard(t, "pair-found")
	if len(r.list(t)) != 1 {
		t.Errorf("in force %v, want the pair", endsOf(r.list(t)))
	}
}

// TestARunThatFindsNothingNewWritesNoPairs, in whatever order etcd has them.
func TestARunThatFindsNothingNewWritesNoPairs(t *testing.T) {
	r := newRig(t, nil)
	for i := range 5 {
		r.flow(wr, "10.1.0.5", fmt.Sprintf("10.%d.0.9", i+2), noon, 2e9)
	}
	r.nightly(t, nightlyRun())
	before, err := r.c.memory().read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.nightly(t, nightlyRun())
	after, err := r.c.memory().read(t.Context())
	if err != nil || after.generation.GetId() != before.generation.GetId() {
		t.Errorf("generation %s after %s (%v), want the same", after.generation.GetId(), before.generation.GetId(), err)
	}
}

func TestThousandsOfPairsAreStoredAtOnce(t *testing.T) {
	r := newRig(t, nil)
	const n = 2500
	for i := range n {
		r.flow(wr, fmt.Sprintf("10.%d.%d.1", i/250, i%250), "172.16.0.1", noon, 2e9)
	}
	r.nightly(t, nightlyRun())
	if got := len(r.list(t)); got != n {
		t.Fatalf("%d pairs, want %d", got, n)
	}
	// The next run, and nothing of the generation before may be left.
	r.flow(wr, "10.99.0.1", "172.16.0.1", noon.Add(day), 2e9)
	r.now = r.now.Add(day)
	r.nightly(t, nightlyRun())
	entries, err := r.c.deps.State.List(t.Context(), keyPairs)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != n+1 {
		t.Errorf("%d keys in etcd, want %d: former nightly runs are swept", len(entries), n+1)
	}
}

func TestTwoNightlyRunsAtOnceDoNotMix(t *testing.T) {
	store := etcd(t)
	one, two := newRigOn(t, DefaultConfiguration(), store), newRigOn(t, DefaultConfiguration(), store)
	one.flow(wr, "10.1.0.5", "10.2.0.9", noon, 2e9)
	before, err := one.c.memory().read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	two.flow(wr, "10.1.0.5", "10.3.0.9", noon, 2e9)
	two.nightly(t, nightlyRun())
	if _, err := one.c.memory().replace(t.Context(), before, nil, nil); connect.CodeOf(coded(err)) != connect.CodeAborted {
		t.Errorf("error %v: want Aborted, because another nightly run came between", err)
	}
	if diff := cmp.Diff(endsOf(one.list(t)), []string{"192.0.2.1 10.1.0.0/24 10.3.0.0/24"}); diff != "" {
		t.Errorf("pairs in force (-got +want):\n%s", diff)
	}
}
