package ledger_test

import (
	"fmt"
	"testing"

	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/etcd"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/calendar"
)

// BenchmarkStart is how long a replica reads a book of 100,000 circuits over two links.
func BenchmarkStart(b *testing.B) {
	const circuits = 100_000
	store := etcd.Shared(b)
	ops := make([]state.Op, 0, 100)
	for i := range circuits {
		id := fmt.Sprintf("c-%06d", i)
		r := &circuitsv1.Record{
			Circuit: &circuitsv1.Circuit{
				Id: id, State: circuitsv1.State_STATE_COMMITTED, RequestId: id, Slots: []*circuitsv1.Slot{{RateBitsPerSecond: 1}},
				Terms: &circuitsv1.Terms{Project: "astronomy", From: "pe1", To: "pe2", RateBitsPerSecond: 1, Description: "nightly transfer"},
				Path:  []*circuitsv1.Hop{{Link: "a-b"}, {Link: "b-c"}},
			},
			Life: &circuitsv1.Life{Start: int64(i), End: int64(i + 10_000)},
		}
		if ops = append(ops, state.Op{Key: "circuits/book/records/" + id, Value: r}); len(ops) == cap(ops) {
			must(store.Apply(b.Context(), ops...))
			ops = ops[:0]
		}
	}
	for b.Loop() {
		r := ready(b, start(b, store))
		r.stop()
	}
}

// BenchmarkEnter is one booking after the other.
func BenchmarkEnter(b *testing.B) {
	r := ready(b, start(b, etcd.Shared(b)))
	n := int64(0)
	for b.Loop() {
		n++
		if _, err := r.book(b.Context(), fmt.Sprint(n), calendar.Window{Start: n, End: n + 1}, 1, links...); err != nil {
			b.Fatal(err)
		}
	}
}
