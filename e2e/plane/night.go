package plane

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// Nightly is a run, which fails where it refuses something.
func (w *Work) Nightly(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	r, err := w.Alpha.Nightly(ctx, connect.NewRequest(&alphav1.NightlyRequest{}))
	if err == nil && len(r.Msg.GetRefused()) > 0 {
		err = fmt.Errorf("refused: %s", r.Msg.GetRefused()[0].GetReason())
	}
	return err
}

// Settle approves what waits for a person until nothing moves.
func (w *Work) Settle(t *testing.T) {
	t.Helper()
	Asking(t, "change sets have ended", func(ctx context.Context) error {
		r, err := w.Changes.List(ctx, connect.NewRequest(&pushv1.ListRequest{Limit: 20}))
		if err != nil {
			return err
		}
		for _, cs := range r.Msg.GetChanges() {
			switch cs.GetState() {
			case pushv1.State_STATE_VERIFIED, pushv1.State_STATE_ROLLED_BACK, pushv1.State_STATE_FAILED, pushv1.State_STATE_EMPTY:
				continue
			case pushv1.State_STATE_PLANNED:
				_, err = w.Changes.Approve(ctx, connect.NewRequest(&pushv1.ApproveRequest{Id: cs.GetId(), By: "operator", Apply: true}))
			case pushv1.State_STATE_APPROVED:
				_, err = w.Changes.Apply(ctx, connect.NewRequest(&pushv1.ApplyRequest{Id: cs.GetId(), By: "operator"}))
			}
			return errors.Join(fmt.Errorf("%s is %s", cs.GetId(), Word(cs.GetState())), err)
		}
		return nil
	})
}

// Pairs are those in force.
func (w *Work) Pairs(t *testing.T) []*alphav1.Pair {
	t.Helper()
	var out []*alphav1.Pair
	Asking(t, "pairs are listed", func(ctx context.Context) error {
		r, err := w.Alpha.List(ctx, connect.NewRequest(&alphav1.ListRequest{}))
		if err == nil {
			out = r.Msg.GetPairs()
		}
		return err
	})
	return out
}

// Keeps wants pairs that were in force before a fault to be so still: whatever flows are gone, none has aged out.
func (w *Work) Keeps(t *testing.T, before []*alphav1.Pair) {
	t.Helper()
	now := map[string]bool{}
	for _, p := range w.Pairs(t) {
		now[p.GetId()] = true
	}
	for _, p := range before {
		if !now[p.GetId()] {
			t.Errorf("the pair %s to %s is no longer in force", p.GetSrc(), p.GetDst())
		}
	}
}

// InForce wants a pair of this source once, in a change set that is verified, and on WR.
func (w *Work) InForce(t *testing.T, src string) {
	t.Helper()
	r, err := w.Alpha.List(t.Context(), connect.NewRequest(&alphav1.ListRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	times := 0
	for _, p := range r.Msg.GetPairs() {
		if p.GetSrc() == src {
			times++
		}
	}
	if times != 1 {
		t.Errorf("%s is in force %d times: %v", src, times, r.Msg.GetPairs())
	}
	for path, entry := range w.Routers["WR"].Entries() {
		if strings.Contains(path+entry, src) {
			return
		}
	}
	t.Errorf("WR holds nothing of %s: %v", src, w.Routers["WR"].Entries())
}

// Word is "rolled-back" for STATE_ROLLED_BACK.
func Word(s pushv1.State) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(s.String(), "STATE_"), "_", "-"))
}
