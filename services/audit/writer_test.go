package audit

import (
	"fmt"
	"testing"

	"github.com/millrace/millrace/internal/testkit/etcd"
	auditv1 "github.com/millrace/millrace/proto/gen/millrace/audit/v1"
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
