package audit

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/etcd"
	auditv1 "github.com/millrace/millrace/proto/gen/millrace/audit/v1"
	_ "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	_ "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	_ "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
)

// TestStoppingBesideTheWriter: what one takes to write, the other does not write again.
func TestStoppingBesideTheWriter(t *testing.T) {
	store := etcd.Shared(t)
	w := start(t, store)
	const rounds = 100
	for i := range rounds {
		w.writer.later(&auditv1.Record{Kind: auditv1.Kind_KIND_ENDED, User: fmt.Sprint("user ", i)})
		if err := w.writer.drain(t.Context()); err != nil { // as Stop does
			t.Fatal(err)
		}
	}
	l := kept(t, store)
	whole(t, l)
	seen := map[string]int{}
	for _, r := range l.Records {
		seen[r.GetUser()]++
	}
	for i := range rounds {
		if n := seen[fmt.Sprint("user ", i)]; n != 1 {
			t.Errorf("record %d is written %d times", i, n)
		}
	}
}

// TestWritersDoNotFork: processes that write at once make one chain.
func TestWritersDoNotFork(t *testing.T) {
	s := etcd.Shared(t)
	var writers sync.WaitGroup
	const processes, each = 4, 60
	for range processes {
		w := start(t, s)
		writers.Go(func() {
			for i := range each {
				if err := w.approve(ann, fmt.Sprint("cs-", i), ""); err != nil {
					t.Error(err)
				}
			}
			w.settle(t)
		})
	}
	writers.Wait()
	l := kept(t, s)
	whole(t, l)
	if len(l.Records) != processes*each*2 {
		t.Errorf("%d records of %d calls", len(l.Records), processes*each)
	}
}

// TestAnswersThatAreLost: a record whose answer was lost is there once, also where another process wrote meanwhile.
func TestAnswersThatAreLost(t *testing.T) {
	plain := etcd.Shared(t)
	var writes atomic.Int64
	s := plain.WithFaults(func(key string, value []byte) state.Fault {
		if key != headKey || value == nil {
			return state.None
		}
		return []state.Fault{state.None, state.AnswerLost, state.Refused, state.AnswerLost, state.AnswerLost}[writes.Add(1)%5]
	})
	var calls sync.WaitGroup
	a, b := start(t, s), start(t, plain)
	for i := range 12 {
		calls.Go(func() {
			if err := a.approve(ann, fmt.Sprint("a-", i), ""); err != nil {
				t.Error(err)
			}
		})
		calls.Go(func() {
			if err := b.approve(ann, fmt.Sprint("b-", i), ""); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	a.settle(t)
	b.settle(t)
	l := kept(t, plain)
	whole(t, l)
	times := map[string]int{}
	for _, r := range l.Records {
		times[r.GetObject()+r.GetKind().String()]++
	}
	for what, n := range times {
		if n != 1 {
			t.Errorf("%s is there %d times", what, n)
		}
	}
	if len(times) != 48 {
		t.Errorf("%d of 48 records", len(times))
	}
}
