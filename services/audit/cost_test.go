package audit

import (
	"fmt"
	"testing"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/testkit/etcd"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/audit/chain"
)

// chainProblems are the faults that a verification finds.
func chainProblems(t testing.TB, w *world) (out []string) {
	t.Helper()
	for _, p := range chain.Verify(kept(t, w.deps.State)) {
		out = append(out, string(p.Fault))
	}
	return out
}

// BenchmarkCall is a call that does nothing, with a record and without one; docs/reference/audit.md has the figures.
func BenchmarkCall(b *testing.B) {
	for _, recorded := range []bool{false, true} {
		for _, at := range []int{1, 16} {
			b.Run(fmt.Sprintf("recorded=%v/at-once=%d", recorded, at), func(b *testing.B) {
				w := start(b, etcd.Shared(b))
				call := func() error { return w.approve(ann, "cs-1", "") }
				if !recorded {
					call = func() error {
						_, err := w.as(ann).List(b.Context(), connect.NewRequest(&pushv1.ListRequest{}))
						return err
					}
				}
				b.SetParallelism(at)
				b.RunParallel(func(p *testing.PB) {
					for p.Next() {
						_ = call()
					}
				})
			})
		}
	}
}
