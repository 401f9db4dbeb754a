package push

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/state"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/rollout"
)

// write records a decision, under the run's locks, before any of it is carried out. Where there is nothing
// to record the locks are checked all the same if a router would be changed. It tries again until etcd
// answers or the locks are lost.
func (r *run) write(ctx context.Context, next rollout.ChangeSet, actions []rollout.Action) error {
	r.moves = append(r.moves, r.c.transitions(next.Moves[len(r.cs.Moves):])...)
	for {
		err := r.writeOnce(ctx, next, actions)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, state.ErrLockLost), ctx.Err() != nil:
			return err
		case errors.Is(err, state.ErrConflict) && r.held == nil:
			return fmt.Errorf("somebody else went on with it: %w", err)
		case errors.Is(err, state.ErrConflict): // a prediction, or our own write whose answer was lost
			err = r.reread(ctx)
		}
		if err != nil {
			r.c.deps.Log.Warn("change set not recorded; will try again", "change", r.id, "error", err)
			lifecycle.Pause(ctx, poll)
		}
		select {
		case <-r.lost():
			return state.ErrLockLost
		default:
		}
	}
}

func (r *run) reread(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.c.cfg.CallTimeout)
	defer cancel()
	fresh, revision, err := r.c.load(ctx, r.id)
	if err == nil {
		r.record, r.revision = fresh, revision
	}
	return err
}

func (r *run) writeOnce(ctx context.Context, next rollout.ChangeSet, actions []rollout.Action) error {
	ctx, cancel := context.WithTimeout(ctx, r.c.cfg.CallTimeout)
	defer cancel()
	m := r.recordOf(next, actions)
	if proto.Equal(m, r.record) {
		r.announce(ctx)
		sets := slices.ContainsFunc(actions, func(a rollout.Action) bool { return a.Do.IsSet() })
		if !sets {
			return nil
		}
		return r.held.Check(ctx)
	}
	put := r.c.deps.State.Put
	if r.held != nil {
		put = r.held.Put
	}
	revision, err := put(ctx, recordPrefix+r.id, r.revision, withoutContents(m))
	if err != nil {
		return err
	}
	r.record, r.revision = m, revision
	r.announce(ctx)
	return nil
}

// announce publishes the recorded transitions that were not published yet, also those whose write was answered late.
func (r *run) announce(ctx context.Context) {
	if steps := len(r.record.GetHistory()); steps > r.told {
		r.told = steps
		r.c.announce(ctx, r.record)
	}
}

// recordOf is the record as it was read, with what was decided. A router's timer begins when it has applied its commit:
// at the latest when all may have done so, and once it has answered before that.
func (r *run) recordOf(next rollout.ChangeSet, actions []rollout.Action) *pushv1.ChangeSet {
	m := proto.CloneOf(r.record)
	m.History = m.History[:r.base]
	moveOn(m, next, r.moves)
	for i, router := range next.Routers {
		d := m.GetDevices()[i]
		was := d.GetState()
		d.CommitId = router.Commit
		switch back := r.c.now().Add(r.rollbackOf(router.Name)); {
		case slices.ContainsFunc(actions, func(a rollout.Action) bool {
			return a.Router == router.Name && (a.Do == rollout.Send || a.Do == rollout.SendUndo)
		}):
			d.RollbackAt = timestamppb.New(back.Add(r.sending))
		case router.State == rollout.RouterApplied && numberOf(routerStates, router.State) != was:
			d.RollbackAt = timestamppb.New(back)
		}
		d.State, d.Error, d.Checks = numberOf(routerStates, router.State), router.Error, router.Checks
		if d.GetState() == was || next.State == rollout.RollingBack {
			continue
		}
		switch router.State {
		case rollout.RouterApplied:
			d.Applied = timestamppb.Now()
		case rollout.RouterConfirmed:
			d.Confirmed = timestamppb.Now()
		}
	}
	if next.State == rollout.Verified {
		m.Circuits = r.brought(m.GetCircuits())
	}
	return m
}
