package push

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/state"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/rollout"
)

// keyAborts is the prefix of wishes to stop a change set that is running: the process that runs it, here or elsewhere,
// checks for one. Before its first confirmation a run writes that it is too late (settle). It is the same key, and the
// first of the two is kept: an abort that was accepted holds.
const keyAborts = "aborts/"

// tooLate marks what a run wrote in the place of a wish; nobody asked for it.
func tooLate(wish *pushv1.Approval) bool { return wish.GetBy() == "" }

// abort ends the wait of a change set, or has its run stopped. It does not wait for the end of that.
func (c *Component) abort(ctx context.Context, req *pushv1.AbortRequest) (*pushv1.ChangeSet, error) {
	m, _, err := c.load(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	switch s := states[m.GetState()]; {
	case s.MayStop():
		return m, c.wishAbort(ctx, req)
	case s == rollout.Applied:
		return nil, fmt.Errorf("change set %s: %w: every router has it and is confirming; roll it back when it is verified", req.GetId(), errWrongState)
	}
	m, _, err = c.decide(ctx, req.GetId(), rollout.Event{Kind: rollout.Abort, By: req.GetBy(), Text: req.GetNote()}, alone)
	return m, err
}

// wishAbort has a run stopped, unless its first confirmation is on its way. Who aborted it first stays on record.
func (c *Component) wishAbort(ctx context.Context, req *pushv1.AbortRequest) error {
	wish := &pushv1.Approval{By: req.GetBy(), Note: req.GetNote(), Time: timestamppb.New(c.now())}
	_, err := c.deps.State.Put(ctx, keyAborts+req.GetId(), 0, wish)
	if err == nil {
		c.events.Publish(ctx, events.ChangeAborted, req.GetId(), fmt.Sprintf("change set %s is %s", req.GetId(), abortText(wish)))
	}
	if !errors.Is(err, state.ErrConflict) {
		return err
	}
	earlier := &pushv1.Approval{}
	switch _, err := c.deps.State.Get(ctx, keyAborts+req.GetId(), earlier); {
	case errors.Is(err, state.ErrNotFound):
		return c.wishAbort(ctx, req) // it was about the run before
	case err != nil:
		return err
	case tooLate(earlier):
		return fmt.Errorf("change set %s: %w: it is too late to stop it, confirmations are on their way", req.GetId(), errWrongState)
	}
	return nil
}

// settle writes that it is too late to abort the run, or returns who has aborted it.
func (r *run) settle(ctx context.Context) (why string, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.c.cfg.CallTimeout)
	defer cancel()
	_, err = r.held.Put(ctx, keyAborts+r.id, 0, &pushv1.Approval{Note: "confirming", Time: timestamppb.New(r.c.now())})
	if errors.Is(err, state.ErrConflict) && !errors.Is(err, state.ErrLockLost) {
		return r.c.aborted(ctx, r.id)
	}
	return "", err
}

func abortText(wish *pushv1.Approval) string {
	if wish.GetNote() == "" {
		return "aborted by " + wish.GetBy()
	}
	return "aborted by " + wish.GetBy() + ": " + wish.GetNote()
}

// aborted returns who requested that a change set is stopped.
func (c *Component) aborted(ctx context.Context, id string) (string, error) {
	wish := &pushv1.Approval{}
	_, err := c.deps.State.Get(ctx, keyAborts+id, wish)
	switch {
	case errors.Is(err, state.ErrNotFound):
		return "", nil
	case err != nil:
		return "", err
	case tooLate(wish):
		return "", nil
	}
	return abortText(wish), nil
}

// forgetAbort is called for a run that a person requests: an earlier request to abort is about the run
// before.
func (c *Component) forgetAbort(ctx context.Context, id string) error {
	return c.deps.State.Apply(ctx, state.Op{Key: keyAborts + id})
}

// mustStop returns the reason why a run must stop, if it must.
func (c *Component) mustStop(ctx context.Context, id string, routers []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.CallTimeout)
	defer cancel()
	why, err := c.aborted(ctx, id)
	if why != "" || err != nil {
		return why, err
	}
	return c.frozen(ctx, routers)
}
