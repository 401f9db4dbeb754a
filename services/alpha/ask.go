package alpha

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"connectrpc.com/connect"

	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// deliver creates every change set that is requested and not known to be made, in services/push, oldest
// first. The idempotency key makes a second request harmless. A change set that the first request left as a
// draft is not planned yet, so it is requested again.
func (c *Component) deliver(ctx context.Context, r remembered) (made []*pushv1.ChangeSet, err error) {
	all := asked(r.generation)
	var errs []error
	for i, a := range all {
		if a.GetChangeId() != "" {
			continue
		}
		created, err := c.deps.Changes.Create(ctx, connect.NewRequest(a.GetRequest()))
		if err != nil {
			errs = append(errs, fmt.Errorf("create a change set in services/push: %w", err))
			continue
		}
		change := created.Msg.GetChange()
		made = append(made, change)
		if change.GetState() != pushv1.State_STATE_DRAFT {
			all[i] = &alphav1.Asked{Request: a.GetRequest(), ChangeId: change.GetId()}
		}
	}
	if !sameAsked(all, asked(r.generation)) {
		if _, err := c.memory().note(ctx, r, all); err != nil {
			// The next retry gets the same change sets.
			c.deps.Log.WarnContext(ctx, "change set created, but still noted as pending", "error", err)
		}
	}
	return made, errors.Join(errs...)
}

// maxReason bounds a reason, to which failed runs would add without end.
const maxReason = 4 << 10

// merge keeps what an earlier run could not bring about.
func merge(old, fresh *pushv1.CreateRequest) *pushv1.CreateRequest {
	if old == nil || fresh == nil {
		if fresh == nil {
			return old
		}
		return fresh
	}
	fresh.Pairs = append(fresh.Pairs, old.GetPairs()...)
	slices.Sort(fresh.Pairs)
	fresh.Pairs = slices.Compact(fresh.Pairs)
	if also := " Also: " + old.GetReason(); len(fresh.GetReason())+len(also) <= maxReason {
		fresh.Reason += also
	}
	fresh.IdempotencyKey = idempotencyKey(fresh.GetPairs(), fresh.GetIdempotencyKey(), old.GetIdempotencyKey())
	return fresh
}
