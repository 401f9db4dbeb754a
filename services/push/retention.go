package push

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/state"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/rollout"
)

// collectEvery is how often what is no longer needed is searched for: where plans are kept for less than an hour, as
// often as that, and at most every minute, because all records are read for it.
func (k Keep) collectEvery() time.Duration {
	if k.For > 0 {
		return max(time.Minute, min(time.Hour, k.For))
	}
	return time.Hour
}

// keyCollect is the lock of the one control plane that collects.
const keyCollect = "locks/collect"

// collect frees what is over push.keep: change sets that have waited for long and can never be applied are ended, plans
// of old change sets are given up in their records, plans that no record names are deleted, and much later the records
// are. It reports whether this control plane did it: one at a time does.
func (c *Component) collect(ctx context.Context) (ours bool, err error) {
	held, err := c.deps.State.Lock(ctx, c.process, c.cfg.LockTTL, keyCollect)
	var holder *state.HeldError
	if errors.As(err, &holder) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer held.Release()
	ctx, end := held.Context(ctx)
	defer end()
	return true, errors.Join(c.endOutdated(ctx), c.giveUpOld(ctx), c.shrink(ctx), c.sweep(ctx), c.forget(ctx))
}

// endOutdated ends change sets that have waited for long and can never be applied.
func (c *Component) endOutdated(ctx context.Context) error {
	all, err := c.list(ctx)
	if err != nil {
		return err
	}
	for _, cs := range waiting(all, c.cfg.Keep, c.now()) {
		if err := c.current(ctx, cs.GetId()); err != nil { // it is ended, or nobody knows
			c.deps.Log.Debug("a change set has waited for long", "change", cs.GetId(), "error", err)
		}
	}
	return ctx.Err()
}

// giveUpOld gives up the plans of old change sets that cannot be rolled back.
func (c *Component) giveUpOld(ctx context.Context) error {
	all, err := c.list(ctx)
	if err != nil {
		return err
	}
	for _, cs := range old(all, c.cfg.Keep, c.now()) {
		reversible, err := c.reversible(ctx, cs.GetId())
		if err == nil && !reversible {
			err = c.giveUp(ctx, cs.GetId(), "its plans and diffs are not kept any more, see push.keep")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// reversible reports whether a change set could be rolled back now.
func (c *Component) reversible(ctx context.Context, id string) (bool, error) {
	cs, _, err := c.load(ctx, id)
	if err != nil || states[cs.GetState()] != rollout.Verified {
		return false, err
	}
	err = c.undisturbed(ctx, id)
	if errors.Is(err, errWrongState) {
		return false, nil
	}
	return err == nil, err
}

// shrink gives up plans, oldest first, until those that are left are below push.keep.max_octets.
func (c *Component) shrink(ctx context.Context) error {
	most, err := c.mostOctets(ctx)
	if err != nil {
		return err
	}
	all, err := c.list(ctx)
	if err != nil {
		return err
	}
	plans := plansOf(all)
	c.metrics.plans.Set(float64(plans.octets))
	if plans.octets <= most {
		return nil
	}
	first, then, err := c.sortByUse(ctx, all)
	if err != nil {
		return err
	}
	for _, cs := range append(first, then...) {
		if plans.octets <= most {
			break
		}
		plans.release(cs)
		if err := c.giveUp(ctx, cs.GetId(), "its plans and diffs were deleted because all plans together had more than push.keep.max_octets"); err != nil {
			return err
		}
	}
	c.metrics.plans.Set(float64(plans.octets))
	if plans.octets > most {
		c.deps.Log.Warn("plans of change sets that are needed take more than push.keep.max_octets", "octets", plans.octets, "most", most)
	}
	return nil
}

// defaultQuota is etcd's where it does not say.
const defaultQuota = 2 << 30

// mostOctets is how much all plans may take.
func (c *Component) mostOctets(ctx context.Context) (int64, error) {
	if c.cfg.Keep.MaxOctets > 0 {
		return c.cfg.Keep.MaxOctets, nil
	}
	size, err := c.deps.State.Size(ctx)
	if err != nil {
		return 0, err
	}
	if size.Quota <= 0 {
		size.Quota = defaultQuota
	}
	return size.Quota / 2, nil
}

// sortByUse are the change sets whose plans may be given up, oldest first: those that cannot be rolled back, and those
// that can.
func (c *Component) sortByUse(ctx context.Context, all []*pushv1.ChangeSet) (first, then []*pushv1.ChangeSet, err error) {
	free := unneeded(all)
	for i, cs := range all {
		if !free[cs.GetId()] || cs.GetCollected() != nil {
			continue
		}
		switch reversible, err := c.reversible(ctx, cs.GetId()); {
		case err != nil:
			return nil, nil, err
		case !reversible:
			first = append(first, cs)
		case len(all)-i > alwaysReversible:
			then = append(then, cs)
		}
	}
	return first, then, nil
}

// forget deletes the records of change sets that are over push.keep.records or push.keep.records_for. Their plans are
// deleted by the next sweep.
func (c *Component) forget(ctx context.Context) error {
	all, err := c.list(ctx)
	if err != nil {
		return err
	}
	for _, cs := range forgettable(all, c.cfg.Keep, c.now()) {
		now, revision, err := c.load(ctx, cs.GetId())
		if err != nil || !hasEnded(now) || !proto.Equal(now, cs) {
			continue // it is being moved on
		}
		_, err = c.deps.State.Commit(ctx, []state.Guard{{Key: recordPrefix + cs.GetId(), Revision: revision}},
			state.Op{Key: recordPrefix + cs.GetId()}, state.Op{Key: keyAborts + cs.GetId()})
		if err != nil && !errors.Is(err, state.ErrConflict) {
			return fmt.Errorf("delete change set %s, which is no longer kept: %w", cs.GetId(), err)
		}
	}
	return nil
}

// giveUp deletes the plans and diffs from a record; the reason becomes a note.
func (c *Component) giveUp(ctx context.Context, id, why string) error {
	cs, revision, err := c.load(ctx, id)
	if err != nil || !hasEnded(cs) || cs.GetCollected() != nil {
		return err
	}
	cs.Collected, cs.Prediction = timestamppb.New(c.now()), nil
	cs.Notes = append(cs.Notes, why)
	for _, d := range cs.GetDevices() {
		d.Content, d.ContentOctets, d.Checks = "", 0, nil
	}
	_, err = c.deps.State.Put(ctx, recordPrefix+id, revision, cs)
	if errors.Is(err, state.ErrConflict) {
		return nil // it is being moved on; the next time
	}
	return err
}

// kept refuses a rollback of a change set whose plan was deleted.
func (c *Component) kept(ctx context.Context, id string) error {
	cs, _, err := c.load(ctx, id)
	if err != nil {
		return err
	}
	return whetherKept(cs)
}

func whetherKept(cs *pushv1.ChangeSet) error {
	if cs.GetCollected() == nil {
		return nil
	}
	return fmt.Errorf("the plan of change set %s is not kept any more: %w; request a new change set", cs.GetId(), errWrongState)
}

// sharedRouters are the routers of both.
func sharedRouters(a, b *pushv1.ChangeSet) (out []string) {
	for _, d := range a.GetDevices() {
		if deviceOf(b, d.GetDevice()) != nil {
			out = append(out, d.GetDevice())
		}
	}
	return out
}

// sweep deletes plans that no record names. A plan is stored before the record that names it, and all that time the
// record is a draft: while there is one, nothing is deleted. The plans are listed before the records, and one that was
// stored again since then has another revision and stays.
func (c *Component) sweep(ctx context.Context) error {
	plans, err := c.deps.State.Keys(ctx, contentPrefix)
	if err != nil {
		return err
	}
	all, err := c.list(ctx)
	if err != nil {
		return err
	}
	named := map[string]bool{}
	for _, cs := range all {
		if states[cs.GetState()] == rollout.Draft {
			return nil
		}
		for _, d := range cs.GetDevices() {
			named[d.GetContent()] = true
		}
	}
	for _, p := range plans {
		digest, piece, _ := strings.Cut(strings.TrimPrefix(p.Key, contentPrefix), "/")
		if named[digest] || piece != firstPiece {
			continue
		}
		err := c.deps.State.DeleteBelow(ctx, contentPrefix+digest+"/", p.Key, p.Revision)
		if err != nil && !errors.Is(err, state.ErrConflict) {
			return fmt.Errorf("delete a plan that is no longer needed: %w", err)
		}
	}
	return nil
}
