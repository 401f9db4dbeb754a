package push

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/state"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/rollout"
)

const keyLocks = "locks/routers/"

// lock takes the locks of all routers of a run, or names the change set that has one. It waits for that
// change set only if it has ended: its locks are about to be released. So are those of an earlier run of this one where
// this run was requested: that is refused until the run before has recorded its end.
func (r *run) lock(ctx context.Context) (*state.Lock, rollout.Event) {
	for deadline := time.Now().Add(r.c.cfg.LockTTL); ; lifecycle.Pause(ctx, poll) {
		held, err := r.c.deps.State.Lock(ctx, r.id+" "+r.c.process, r.c.cfg.LockTTL, lockKeys(r.routers)...)
		var holder *state.HeldError
		switch {
		case err == nil:
			return held, rollout.Event{Kind: rollout.Locked}
		case !errors.As(err, &holder):
			return nil, rollout.Event{Kind: rollout.Held, Text: err.Error()}
		}
		id, _, _ := strings.Cut(holder.Owner, " ")
		other, _, err := r.c.load(ctx, id)
		ended := err == nil && !changeSetOf(other).State.InMotion() || id == r.id && !r.takenUp
		switch waits := ended && time.Now().Before(deadline) && ctx.Err() == nil; {
		case waits:
		case id == r.id:
			return nil, rollout.Event{Kind: rollout.Elsewhere}
		default:
			return nil, rollout.Event{Kind: rollout.Held, Text: fmt.Sprintf("router %s is locked by change set %s, which is being applied; try again when it is done",
				strings.TrimPrefix(holder.Key, keyLocks), id)}
		}
	}
}

// lockKeys are in one order for all, or two change sets could each hold a lock that the other needs.
func lockKeys(routers []string) []string {
	out := make([]string, 0, len(routers))
	for _, router := range slices.Sorted(slices.Values(routers)) {
		out = append(out, keyLocks+router)
	}
	return out
}

// claimed names a router on which another change set that has not ended may have left a commit. The next
// runner of that change set rolls the commit back, and could not distinguish it from ours.
func (r *run) claimed(all []*pushv1.ChangeSet) string {
	for _, m := range all {
		if m.GetId() == r.id {
			continue
		}
		for _, router := range rollout.InFlight(changeSetOf(m)) {
			if slices.Contains(r.routers, router) {
				return fmt.Sprintf("change set %s has not ended and may have left a commit on router %s; try again when it is done", m.GetId(), router)
			}
		}
	}
	return ""
}
