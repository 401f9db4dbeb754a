package cluster

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/e2e/plane"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/program"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
	"github.com/millrace/millrace/services/push/pushtest"
)

// work is something that the control plane does. begin brings it to a moment; the rest goes on while something is
// broken, and what is left is judged there and then: a second replica is there so that nobody waits for a repair.
type work struct {
	name  string
	begin func(t *testing.T, w *world, n int) (rest func(t *testing.T))
}

var (
	importing = work{"an import", func(t *testing.T, w *world, n int) func(*testing.T) {
		var batches []*flowv1.FlowBatch
		for half := range 2 {
			record := plane.Flow("half", (len(w.Taken)+half)%200, plane.Small)
			batches = append(batches, &flowv1.FlowBatch{BatchId: fmt.Sprint("half-", n, "-", half), Records: []*flowv1.FlowRecord{record}})
		}
		at, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() {
			ended <- w.Stream(context.WithoutCancel(t.Context()), func() { close(at); <-goOn }, batches...)
		}()
		<-at
		return func(t *testing.T) {
			close(goOn)
			select {
			case err := <-ended:
				t.Logf("the import that was struck ended with %v", err)
			case <-time.After(waits):
				t.Logf("the import that was struck has no answer after %s", waits)
			}
			plane.Asking(t, "the import again", func(ctx context.Context) error { return w.Stream(ctx, func() {}, batches...) })
			w.Taken = append(w.Taken, plane.Small, plane.Small)
			w.AllStored(t)
		}
	}}
	night = work{"a nightly run", func(t *testing.T, w *world, n int) func(*testing.T) {
		w.Send(t, fmt.Sprint("alpha-", n), plane.Huge)
		w.AllStored(t)
		src, _ := netip.AddrFromSlice(plane.Flow("", (len(w.Taken)-1)%200, plane.Huge).GetSrcAddr())
		before := w.Pairs(t)
		return func(t *testing.T) {
			plane.Asking(t, "a nightly run", w.Nightly)
			w.Settle(t)
			w.InForce(t, netip.PrefixFrom(src, 32).String())
			w.Keeps(t, before)
		}
	}}
	changing = work{"a change set", func(t *testing.T, w *world, _ int) func(*testing.T) {
		w.Wipe()
		hold := w.Routers["WR"].HoldAt(t, pushtest.BeforeCommit)
		id := w.apply(t)
		await.Value(t, id+" is held", hold.Reached())
		return func(t *testing.T) {
			hold.Release()
			w.Judge(t, w.end(t, id))
			w.Wipe()
			w.verified(t)
			w.Wipe()
		}
	}}
	weighing = work{"a change of weights", func(t *testing.T, w *world, n int) func(*testing.T) {
		reason := fmt.Sprint("change ", n)
		return func(t *testing.T) {
			plane.Asking(t, "weights are changed", func(ctx context.Context) error {
				if are, err := w.weightsAre(ctx, reason); are || err != nil { // the answer to an earlier request was lost
					return err
				}
				_, err := w.VPN.SetWeights(ctx, connect.NewRequest(&vpnv1.SetWeightsRequest{
					Weights: []*vpnv1.Weight{{Vpn: "red", Weight: float64(1 + n)}}, By: "operator", Reason: reason,
				}))
				return err
			})
			w.Spread(t, reason)
		}
	}}
)

// waits is how long a person waits for an answer before asking again.
const waits = 20 * time.Second

func (w *world) weightsAre(ctx context.Context, reason string) (bool, error) {
	r, err := w.VPN.Weights(ctx, connect.NewRequest(&vpnv1.WeightsRequest{}))
	return err == nil && r.Msg.GetChange().GetReason() == reason, err
}

// apply makes a change set, approves it and has it applied.
func (w *world) apply(t *testing.T) (id string) {
	t.Helper()
	plane.Asking(t, "a change set is made", func(ctx context.Context) error {
		r, err := w.Changes.Create(ctx, connect.NewRequest(&pushv1.CreateRequest{Policy: "geant-lbe", Author: "test"}))
		if err == nil {
			id = r.Msg.GetChange().GetId()
		}
		return err
	})
	plane.Asking(t, id+" is approved", func(ctx context.Context) error {
		r, err := w.Changes.Get(ctx, connect.NewRequest(&pushv1.GetRequest{Id: id}))
		if err != nil || r.Msg.GetChange().GetState() != pushv1.State_STATE_PLANNED {
			return err
		}
		_, err = w.Changes.Approve(ctx, connect.NewRequest(&pushv1.ApproveRequest{Id: id, By: "operator", Apply: true}))
		return err
	})
	return id
}

// end waits until nothing more happens to a change set by itself.
func (w *world) end(t *testing.T, id string) (cs *pushv1.ChangeSet) {
	t.Helper()
	program.Until(t, id+" ends", func() (bool, any) {
		ctx, cancel := context.WithTimeout(t.Context(), waits)
		defer cancel()
		r, err := w.Changes.Get(ctx, connect.NewRequest(&pushv1.GetRequest{Id: id}))
		if err != nil {
			return false, err
		}
		cs = r.Msg.GetChange()
		return plane.Ended(cs), cs.GetHistory()
	})
	return cs
}

// verified makes a change set and wants its best end.
func (w *world) verified(t *testing.T) {
	t.Helper()
	id := w.apply(t)
	if cs := w.end(t, id); cs.GetState() != pushv1.State_STATE_VERIFIED {
		t.Errorf("%s is %s: %v", id, cs.GetState(), cs.GetHistory())
	}
}
