package faults

import (
	"context"
	"fmt"
	"net/netip"
	"testing"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/e2e/plane"
	"github.com/millrace/millrace/internal/testkit/faults"
	"github.com/millrace/millrace/internal/testkit/program"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
)

// runReads is a nightly run whose query of the flow store is on its link.
func runReads(t *testing.T, w *workWorld, n int) (func(), func(*testing.T, bool)) {
	return w.nightlyRun(t, n, w.Links["flowstore"])
}

// runAsks is a nightly run whose request for a change set is on its link.
func runAsks(t *testing.T, w *workWorld, n int) (func(), func(*testing.T, bool)) {
	return w.nightlyRun(t, n, w.Links["push"])
}

// nightlyRun makes one that has a new alpha flow to find, and holds what it sends on a connection. The run before
// reads the outcome of the last change set, so that this one requests its own first, after it has recorded its pair.
func (w *workWorld) nightlyRun(t *testing.T, n int, link *faults.Link) (release func(), done func(*testing.T, bool)) {
	t.Helper()
	plane.Asking(t, "the run before", w.Nightly)
	w.Send(t, fmt.Sprint("alpha-", n), plane.Huge)
	w.AllStored(t)
	pair := plane.Flow("", (len(w.Taken)-1)%200, plane.Huge)
	src, _ := netip.AddrFromSlice(pair.GetSrcAddr())
	link.Set(faults.Condition{StallForth: true})
	ended := make(chan error, 1)
	go func() { ended <- w.Nightly(context.WithoutCancel(t.Context())) }()
	program.Until(t, "the nightly run is there", func() (bool, any) {
		select {
		case err := <-ended:
			t.Fatalf("the nightly run has ended before: %v", err)
		default:
		}
		return link.Held() > 0, nil
	})
	return func() { link.Set(faults.Condition{}) }, func(t *testing.T, _ bool) {
		t.Logf("the nightly run that was struck ended with %v", <-ended)
		w.AllStored(t) // what was imported again is on its way
		plane.Asking(t, "a nightly run", w.Nightly)
		w.Settle(t)
		w.InForce(t, netip.PrefixFrom(src, 32).String())
	}
}

// importing is a file of two batches, of which one was sent.
func importing(t *testing.T, w *workWorld, n int) (release func(), done func(*testing.T, bool)) {
	t.Helper()
	var batches []*flowv1.FlowBatch
	for half := range 2 {
		batches = append(batches, &flowv1.FlowBatch{BatchId: fmt.Sprint("half-", n, "-", half), Records: []*flowv1.FlowRecord{plane.Flow("half", (len(w.Taken)+half)%200, plane.Small)}})
	}
	at, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	ctx := context.WithoutCancel(t.Context())
	go func() { ended <- w.Stream(ctx, func() { close(at); <-goOn }, batches...) }()
	<-at
	return func() { close(goOn) }, func(t *testing.T, forgot bool) {
		if err := <-ended; err != nil || forgot {
			t.Logf("the import that was struck ended with %v", err)
			plane.Asking(t, "the import again", func(ctx context.Context) error { return w.Stream(ctx, func() {}, batches...) })
		}
		w.Taken = append(w.Taken, plane.Small, plane.Small)
	}
}

// weighing is a change of weights of which one PE knows.
func weighing(t *testing.T, w *workWorld, n int) (release func(), done func(*testing.T, bool)) {
	t.Helper()
	reason := fmt.Sprint("change ", n)
	change := func(ctx context.Context) error {
		_, err := w.VPN.SetWeights(ctx, connect.NewRequest(&vpnv1.SetWeightsRequest{
			Weights: []*vpnv1.Weight{{Vpn: "red", Weight: float64(1 + n)}}, By: "operator", Reason: reason,
		}))
		return err
	}
	link := w.Routers["WR"].PE.Link
	link.Set(faults.Condition{StallForth: true})
	plane.Asking(t, "weights are changed", change)
	program.Until(t, "ER's PE has them", func() (bool, any) {
		has := w.Routers["ER"].PE.Has()
		return has.GetVersion().GetNumber() > w.Routers["WR"].PE.Has().GetVersion().GetNumber(), has
	})
	return func() { link.Set(faults.Condition{}) }, func(t *testing.T, forgot bool) {
		if forgot {
			plane.Asking(t, "weights are changed again", change)
		}
		w.Spread(t, reason)
	}
}
