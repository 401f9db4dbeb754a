package push

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/state"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/drift"
	"github.com/millrace/millrace/services/push/rollout"
)

// collectEvery is how often plans that are no longer needed are searched for.
const collectEvery = time.Hour

// collect frees what is over push.keep: first the plans of old change sets are given up in their records, then those
// that no record names are deleted. Their history stays.
func (c *Component) collect(ctx context.Context) error {
	if c.cfg.Keep.For == 0 {
		return nil
	}
	all, err := c.list(ctx)
	if err != nil {
		return err
	}
	for _, cs := range old(all, c.cfg.Keep, c.now()) {
		if err := c.giveUp(ctx, cs.GetId()); err != nil {
			return err
		}
	}
	return c.sweep(ctx)
}

// old are the change sets that are over both limits, have ended, and are in force nowhere.
func old(all []*pushv1.ChangeSet, keep Keep, now time.Time) (out []*pushv1.ChangeSet) {
	needed := inForceAnywhere(all)
	for i, cs := range all { // oldest first
		ended := cs.GetHistory()[len(cs.GetHistory())-1].GetTime().AsTime()
		switch {
		case len(all)-i <= keep.Changes, now.Sub(ended) < keep.For, cs.GetCollected() != nil, needed[cs.GetId()], !hasEnded(cs):
		default:
			out = append(out, cs)
		}
	}
	return out
}

// hasEnded reports whether only a rollback can move a change set on.
func hasEnded(cs *pushv1.ChangeSet) bool {
	switch states[cs.GetState()] {
	case rollout.Empty, rollout.Verified, rollout.RolledBack, rollout.Failed:
		return true
	}
	return false
}

// inForceAnywhere are the change sets from which it follows what some router should hold. Where that is not known now,
// all are.
func inForceAnywhere(all []*pushv1.ChangeSet) map[string]bool {
	routers, needed := map[string]bool{}, map[string]bool{}
	for _, cs := range all {
		for _, d := range cs.GetDevices() {
			routers[d.GetDevice()] = true
		}
	}
	for router := range routers {
		steps := stepsOf(all, router)
		if relevant, known := drift.Relevant(steps); known == drift.Known {
			steps = relevant
		}
		for _, s := range steps {
			needed[s.Change] = true
		}
	}
	return needed
}

// giveUp records that the plans and diffs of a change set are not kept any more, unless it can still be
// rolled back.
func (c *Component) giveUp(ctx context.Context, id string) error {
	cs, revision, err := c.load(ctx, id)
	if err != nil {
		return err
	}
	if states[cs.GetState()] == rollout.Verified {
		if err := c.undisturbed(ctx, id); !errors.Is(err, errWrongState) {
			return err
		}
	}
	cs.Collected, cs.Prediction = timestamppb.New(c.now()), nil
	cs.Notes = append(cs.Notes, "its plans and diffs are not kept any more, see push.keep")
	for _, d := range cs.GetDevices() {
		d.Content = ""
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
	if err == nil && cs.GetCollected() != nil {
		err = fmt.Errorf("the plan of change set %s is not kept any more: %w; request a new change set", id, errWrongState)
	}
	return err
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
