package push

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/state"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/guard"
	"github.com/millrace/millrace/services/push/rollout"
)

// keyFreezes is the prefix of freezes in etcd, one key each.
const keyFreezes = "freezes/"

// freezeKey: no router is called like the key of all.
func freezeKey(router string) string {
	if router == "" {
		return keyFreezes + "all"
	}
	return keyFreezes + "routers/" + router
}

// freeze turns the freeze switch on. Who turned it on first stays on record.
func (c *Component) freeze(ctx context.Context, req *pushv1.FreezeRequest) (*pushv1.Freeze, error) {
	if _, known := c.deps.Inventory.ByName(req.GetRouter()); req.GetRouter() != "" && !known {
		return nil, fmt.Errorf("router %s is not in the inventory: %w", req.GetRouter(), errNoRouter)
	}
	f := &pushv1.Freeze{Router: req.GetRouter(), By: req.GetBy(), Reason: req.GetReason(), Since: timestamppb.New(c.now())}
	_, err := c.deps.State.Put(ctx, freezeKey(f.GetRouter()), 0, f)
	if errors.Is(err, state.ErrConflict) {
		already := &pushv1.Freeze{}
		if _, err := c.deps.State.Get(ctx, freezeKey(f.GetRouter()), already); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %s", errWrongState, freezeOf(already))
	}
	if err != nil {
		return nil, err
	}
	c.events.Publish(ctx, events.RoutersFrozen, subject(f.GetRouter()), freezeOf(f).String())
	return f, nil
}

// unfreeze turns it off; a router that has left the inventory can be unfrozen, too.
func (c *Component) unfreeze(ctx context.Context, req *pushv1.UnfreezeRequest) error {
	f := &pushv1.Freeze{}
	revision, err := c.deps.State.Get(ctx, freezeKey(req.GetRouter()), f)
	if errors.Is(err, state.ErrNotFound) {
		return notFrozen(req.GetRouter())
	}
	if err == nil {
		err = c.thaw(ctx, req.GetRouter(), revision)
	}
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%s unfreezes what %s froze: %s", req.GetBy(), f.GetBy(), f.GetReason())
	if req.GetNote() != "" {
		text += "; " + req.GetNote()
	}
	c.events.Publish(ctx, events.RoutersUnfrozen, subject(req.GetRouter()), text)
	return nil
}

func notFrozen(router string) error {
	return fmt.Errorf("%w: %s is not frozen; see `millrace change freezes`", errWrongState, subject(router))
}

// thaw deletes the freeze that was read at this revision, and no other: somebody else may have turned that one off, and
// another one on.
func (c *Component) thaw(ctx context.Context, router string, revision int64) error {
	key := freezeKey(router)
	_, err := c.deps.State.Commit(ctx, []state.Guard{{Key: key, Revision: revision}}, state.Op{Key: key})
	var other *state.ConflictError
	switch {
	case !errors.As(err, &other):
		return err
	case other.Revision == 0:
		return notFrozen(router)
	}
	return fmt.Errorf("%w: %s was frozen anew meanwhile; see `millrace change freezes`, and unfreeze it again", errWrongState, subject(router))
}

// subject of an event about a freeze.
func subject(router string) string {
	if router == "" {
		return "all routers"
	}
	return router
}

func (c *Component) freezes(ctx context.Context) ([]*pushv1.Freeze, error) {
	entries, err := c.deps.State.List(ctx, keyFreezes)
	if err != nil {
		return nil, err
	}
	out := make([]*pushv1.Freeze, len(entries)) // the key of all sorts first
	for i, e := range entries {
		out[i] = &pushv1.Freeze{}
		if err := proto.Unmarshal(e.Value, out[i]); err != nil {
			return nil, fmt.Errorf("decode %s: %w", e.Key, err)
		}
	}
	return out, nil
}

// frozen returns the reason why nothing may be sent to these routers.
func (c *Component) frozen(ctx context.Context, routers []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.CallTimeout)
	defer cancel()
	list, err := c.freezes(ctx)
	if err != nil {
		return "", fmt.Errorf("read the freeze switch: %w", err)
	}
	all := make([]guard.Freeze, len(list))
	for i, f := range list {
		all[i] = freezeOf(f)
	}
	return guard.Frozen(all, routers), nil
}

func freezeOf(f *pushv1.Freeze) guard.Freeze {
	return guard.Freeze{Router: f.GetRouter(), By: f.GetBy(), Reason: f.GetReason(), Since: f.GetSince().AsTime()}
}

// permitted refuses to begin what a guard forbids.
func (c *Component) permitted(ctx context.Context, m *pushv1.ChangeSet) error {
	why, err := c.frozen(ctx, touched(m.GetDevices()))
	if err == nil && why != "" {
		err = fmt.Errorf("change set %s: %w: %s", m.GetId(), errWrongState, why)
	}
	return err
}

func (c *Component) permittedByID(ctx context.Context, id string) error {
	m, _, err := c.load(ctx, id)
	if err != nil {
		return err
	}
	return c.permitted(ctx, m)
}

// stopPoll is how often a run looks whether it must stop.
const stopPoll = time.Second

// watchStops cancels the run as soon as it must stop.
func (r *run) watchStops(ctx context.Context) {
	for ; ctx.Err() == nil; lifecycle.Pause(ctx, stopPoll) {
		if why, err := r.c.mustStop(ctx, r.id, r.routers); err == nil && why != "" {
			r.happened(ctx, news{Event: rollout.Event{Kind: rollout.Stop, Text: why}})
			return
		}
	}
}

// unfrozen is looked for once more before each commit: in a large wave some wait for their turn.
func (r *run) unfrozen(ctx context.Context) error {
	why, err := r.c.mustStop(ctx, r.id, r.routers)
	if err == nil && why != "" {
		err = errors.New("nothing was sent: " + why)
	}
	return err
}

// mayStop returns the reason why the run must stop, where commits or the first confirmation are about to be sent. Until
// etcd has answered, nothing is sent.
func (r *run) mayStop(ctx context.Context, next rollout.ChangeSet, actions []rollout.Action) (why string, err error) {
	sends := slices.ContainsFunc(actions, func(a rollout.Action) bool { return a.Do == rollout.Send })
	decides := rollout.Decides(r.cs, next)
	if !sends && !decides {
		return "", nil
	}
	for {
		why, err = r.c.mustStop(ctx, r.id, r.routers)
		if err == nil && why == "" && sends {
			why, err = r.outdated(ctx)
		}
		if err == nil && why == "" && decides {
			why, err = r.settle(ctx)
		}
		if err == nil || errors.Is(err, state.ErrLockLost) {
			return why, err
		}
		r.c.deps.Log.Warn("nothing is sent; will try again", "change", r.id, "error", err)
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-r.lost():
			return "", state.ErrLockLost
		case <-time.After(poll):
		}
	}
}
