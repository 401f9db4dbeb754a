package soak

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/e2e/plane"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// round is an operator's: the change set that was verified last is rolled back and requested again, and
// while WR is frozen it cannot be applied. Whatever fails, WR is not frozen at its end, and no change set
// is in motion.
func (w *world) round(ctx context.Context, n int) {
	w.diary.try(ctx, aRound, func(ctx context.Context) error { return w.oneRound(ctx, n) })
	until(ctx, func() bool { return w.unfreeze(ctx) == nil })
	w.settle(ctx)
}

// titleOf the change set of a round. No two may have the same.
func titleOf(n int) string { return fmt.Sprint("round ", n) }

func (w *world) oneRound(ctx context.Context, n int) error {
	if err := w.undo(ctx); err != nil {
		return fmt.Errorf("roll back: %w", err)
	}
	_, err := w.changes.Freeze(ctx, connect.NewRequest(&pushv1.FreezeRequest{Router: "WR", By: "operator", Reason: titleOf(n)}))
	if err != nil {
		return fmt.Errorf("freeze: %w", err)
	}
	cs, err := w.ask(ctx, n)
	if err != nil {
		return fmt.Errorf("request a change set: %w", err)
	}
	if cs.GetState() == pushv1.State_STATE_PLANNED {
		if err := w.approve(ctx, cs.GetId()); connect.CodeOf(err) != connect.CodeFailedPrecondition {
			return fmt.Errorf("applying %s while WR is frozen is answered with %w", cs.GetId(), err)
		}
	}
	if err := w.unfreeze(ctx); err != nil {
		return fmt.Errorf("unfreeze: %w", err)
	}
	if cs.GetState() == pushv1.State_STATE_PLANNED {
		if err := w.approve(ctx, cs.GetId()); err != nil {
			return fmt.Errorf("approve: %w", err)
		}
	}
	return w.wants(ctx, cs.GetId(), pushv1.State_STATE_VERIFIED, pushv1.State_STATE_EMPTY)
}

// ask requests with one key until there is an answer: however often, there is one change set.
func (w *world) ask(ctx context.Context, n int) (cs *pushv1.ChangeSet, err error) {
	until(ctx, func() bool {
		var r *connect.Response[pushv1.CreateResponse]
		r, err = w.changes.Create(ctx, connect.NewRequest(&pushv1.CreateRequest{
			Policy: "hntes-two-queue", Author: "operator", Title: titleOf(n), IdempotencyKey: titleOf(n),
		}))
		if err == nil {
			cs = r.Msg.GetChange()
		}
		return err == nil
	})
	return cs, err
}

// unfreeze is done when WR is not frozen.
func (w *world) unfreeze(ctx context.Context) error {
	_, err := w.changes.Unfreeze(ctx, connect.NewRequest(&pushv1.UnfreezeRequest{Router: "WR", By: "operator"}))
	if connect.CodeOf(err) != connect.CodeFailedPrecondition {
		return err
	}
	frozen, err := w.changes.ListFreezes(ctx, connect.NewRequest(&pushv1.ListFreezesRequest{}))
	if err == nil && len(frozen.Msg.GetFreezes()) > 0 {
		err = errors.New("WR is still frozen")
	}
	return err
}

// undo rolls back the change set that was verified last.
func (w *world) undo(ctx context.Context) error {
	all, err := w.list(ctx, few)
	if err != nil {
		return err
	}
	verified := slices.DeleteFunc(all, func(cs *pushv1.ChangeSet) bool { return cs.GetState() != pushv1.State_STATE_VERIFIED })
	if len(verified) == 0 {
		return nil
	}
	last := slices.MaxFunc(verified, func(a, b *pushv1.ChangeSet) int { return plane.Applied(a).Compare(plane.Applied(b)) })
	if _, err := w.changes.Rollback(ctx, connect.NewRequest(&pushv1.RollbackRequest{Id: last.GetId(), By: "operator"})); err != nil {
		return err
	}
	return w.wants(ctx, last.GetId(), pushv1.State_STATE_ROLLED_BACK)
}

// wants waits until a change set has ended, as one of these.
func (w *world) wants(ctx context.Context, id string, ends ...pushv1.State) error {
	var last error
	var cs *pushv1.ChangeSet
	done := until(ctx, func() bool {
		r, err := w.changes.Get(ctx, connect.NewRequest(&pushv1.GetRequest{Id: id}))
		if last = err; err == nil {
			cs = r.Msg.GetChange()
		}
		if cs.GetState() == pushv1.State_STATE_APPROVED {
			last = w.apply(ctx, id)
		}
		return err == nil && plane.Ended(cs)
	})
	switch {
	case !done:
		return fmt.Errorf("%s is %s and does not end: %w", id, plane.Word(cs.GetState()), errors.Join(last, ctx.Err()))
	case !slices.Contains(ends, cs.GetState()):
		return fmt.Errorf("%s is %w", id, errors.Join(failure(cs), errors.New(plane.Word(cs.GetState()))))
	}
	return nil
}
