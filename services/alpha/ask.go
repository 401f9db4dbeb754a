package alpha

import (
	"context"
	"fmt"
	"slices"

	"connectrpc.com/connect"

	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// deliver has services/push create the pending change set, unless it has. The idempotency key makes a second request
// harmless, and one whose first left a draft is not planned yet: it is asked for again.
func (c *Component) deliver(ctx context.Context, r remembered) (*pushv1.ChangeSet, error) {
	pending := r.generation.GetPending()
	if pending == nil || r.generation.GetChangeId() != "" {
		return nil, nil
	}
	created, err := c.deps.Changes.Create(ctx, connect.NewRequest(pending))
	if err != nil {
		return nil, fmt.Errorf("create a change set in services/push: %w", err)
	}
	change := created.Msg.GetChange()
	if change.GetState() == pushv1.State_STATE_DRAFT {
		return change, nil
	}
	if _, err := c.memory().note(ctx, r, pending, change.GetId()); err != nil {
		// The next retry gets the same change set.
		c.deps.Log.WarnContext(ctx, "change set created, but still noted as pending", "change", change.GetId(), "error", err)
	}
	return change, nil
}

// unfinished is what earlier runs wanted changed and what has come to nothing: never asked for, or the change set
// failed, because a router was away or a policy was broken. That one is asked for again under a new key:
// services/push would answer the old one with the change set that failed.
func (c *Component) unfinished(ctx context.Context, o order, r remembered) *pushv1.CreateRequest {
	pending, id := r.generation.GetPending(), r.generation.GetChangeId()
	if pending == nil || id == "" {
		return pending
	}
	got, err := c.deps.Changes.Get(ctx, connect.NewRequest(&pushv1.GetRequest{Id: id}))
	switch {
	case connect.CodeOf(err) == connect.CodeNotFound:
		return nil // it was swept after its time
	case err != nil:
		c.deps.Log.WarnContext(ctx, "not known what became of a change set, so it is asked for again", "change", id, "error", err)
		return pending
	case got.Msg.GetChange().GetState() != pushv1.State_STATE_FAILED:
		return nil
	}
	pending.IdempotencyKey = idempotencyKey(pending.GetPairs(), pending.GetIdempotencyKey(), stamp(o.to))
	return pending
}

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
	fresh.Reason += " Also: " + old.GetReason()
	fresh.IdempotencyKey = idempotencyKey(fresh.GetPairs(), fresh.GetIdempotencyKey(), old.GetIdempotencyKey())
	return fresh
}
