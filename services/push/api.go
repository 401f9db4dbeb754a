package push

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/state"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/rollout"
)

// api implements ChangeService. Codes: NOT_FOUND for a change set
// that is not there, FAILED_PRECONDITION for a step its state does not allow.
// Apply, Approve with apply and Rollback return once the work has begun; Get
// shows how it goes.
type api struct{ c *Component }

func coded(err error) error {
	var beyond *rights.Refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &beyond):
		return connect.NewError(connect.CodePermissionDenied, fmt.Errorf("nothing was sent: %w", beyond))
	case errors.Is(err, state.ErrNotFound):
		return connect.NewError(connect.CodeNotFound, fmt.Errorf("%w; see `millrace change list`", err))
	case errors.Is(err, errNoRouter):
		return connect.NewError(connect.CodeNotFound, err)
	case errors.Is(err, errWrongState):
		return connect.NewError(connect.CodeFailedPrecondition, err)
	}
	return err
}

func (a *api) Create(ctx context.Context, req *connect.Request[pushv1.CreateRequest]) (*connect.Response[pushv1.CreateResponse], error) {
	if req.Msg.GetPolicy() == "" || req.Msg.GetAuthor() == "" {
		return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("a change set needs a policy and an author"))
	}
	if who, known := rights.From(ctx); known && who.Role != rights.Service {
		if err := ruleOfAService(req.Msg); err != nil {
			return nil, err
		}
	}
	cs, err := a.complete(ctx)(a.c.create(ctx, req.Msg))
	return connect.NewResponse(&pushv1.CreateResponse{Change: cs}), coded(err)
}

// ruleOfAService refuses the fields that choose an approval rule and that one service alone may set.
func ruleOfAService(req *pushv1.CreateRequest) error {
	switch {
	case req.GetForCircuits():
		return connect.NewError(connect.CodePermissionDenied, errors.New("for_circuits chooses the approval rule of services/circuits, which alone may set it"))
	case req.GetForSplit():
		return connect.NewError(connect.CodePermissionDenied, errors.New("for_split chooses the approval rule of services/split, which alone may set it"))
	}
	return nil
}

// defaultLimit is how many change sets List returns unless the request has a limit.
const defaultLimit = 100

func (a *api) List(ctx context.Context, req *connect.Request[pushv1.ListRequest]) (*connect.Response[pushv1.ListResponse], error) {
	all, err := a.c.readable(ctx)
	if err != nil {
		return nil, coded(err)
	}
	slices.Reverse(all)
	limit := int(req.Msg.GetLimit())
	if limit == 0 {
		limit = defaultLimit
	}
	all = all[:min(limit, len(all))]
	if req.Msg.GetBrief() {
		for i, cs := range all {
			all[i] = shallow(cs, "devices", "prediction")
			for _, d := range cs.GetDevices() { // whose names say who may see it
				all[i].Devices = append(all[i].Devices, shallow(d, "plan", "entries", "diff"))
			}
		}
		return connect.NewResponse(&pushv1.ListResponse{Changes: all}), nil
	}
	if err := a.fillNewest(ctx, all); err != nil {
		return nil, err
	}
	return connect.NewResponse(&pushv1.ListResponse{Changes: all}), nil
}

// listBytes bounds how much plan and diff a list carries.
const listBytes = 4 << 20

// fillNewest completes change sets, newest first, as long as the list stays small enough for a browser.
func (a *api) fillNewest(ctx context.Context, all []*pushv1.ChangeSet) error {
	size := 0
	for _, cs := range all {
		if err := a.c.contents.show(ctx, cs); err != nil {
			return err
		}
		for _, d := range cs.GetDevices() {
			if more := proto.Size(d); size+more > listBytes {
				d.Plan, d.Entries, d.Diff = nil, nil, fmt.Sprintf("%d config entries, too many for this list; see `millrace change show %s`\n", len(d.GetEntries()), cs.GetId())
			} else {
				size += more
			}
		}
	}
	return nil
}

func (a *api) Get(ctx context.Context, req *connect.Request[pushv1.GetRequest]) (*connect.Response[pushv1.GetResponse], error) {
	id := req.Msg.GetId()
	if key := req.Msg.GetIdempotencyKey(); id == "" && key != "" {
		id = newID(key)
	}
	cs, err := a.c.whole(ctx, id)
	return connect.NewResponse(&pushv1.GetResponse{Change: cs}), coded(err)
}

func (a *api) Approve(ctx context.Context, req *connect.Request[pushv1.ApproveRequest]) (*connect.Response[pushv1.ApproveResponse], error) {
	if err := signed(req.Msg.GetBy()); err != nil {
		return nil, err
	}
	if open, _ := a.c.window.Open(a.c.now()); open && req.Msg.GetApply() {
		if err := a.c.permittedByID(ctx, req.Msg.GetId()); err != nil {
			return nil, coded(err) // an approval alone is possible
		}
	}
	cs, err := a.c.approve(ctx, req.Msg)
	if err == nil && req.Msg.GetApply() && cs.GetState() == pushv1.State_STATE_APPROVED {
		cs, err = a.c.apply(ctx, req.Msg.GetId(), req.Msg.GetBy())
	}
	cs, err = a.complete(ctx)(cs, err)
	return connect.NewResponse(&pushv1.ApproveResponse{Change: cs}), coded(err)
}

func (a *api) Apply(ctx context.Context, req *connect.Request[pushv1.ApplyRequest]) (*connect.Response[pushv1.ApplyResponse], error) {
	if err := signed(req.Msg.GetBy()); err != nil {
		return nil, err
	}
	cs, err := a.complete(ctx)(a.c.apply(ctx, req.Msg.GetId(), req.Msg.GetBy()))
	return connect.NewResponse(&pushv1.ApplyResponse{Change: cs}), coded(err)
}

func (a *api) Rollback(ctx context.Context, req *connect.Request[pushv1.RollbackRequest]) (*connect.Response[pushv1.RollbackResponse], error) {
	if err := signed(req.Msg.GetBy()); err != nil {
		return nil, err
	}
	cs, err := a.complete(ctx)(a.c.rollback(ctx, req.Msg))
	return connect.NewResponse(&pushv1.RollbackResponse{Change: cs}), coded(err)
}

// complete fills in the plans of an answer.
func (a *api) complete(ctx context.Context) func(*pushv1.ChangeSet, error) (*pushv1.ChangeSet, error) {
	return func(cs *pushv1.ChangeSet, err error) (*pushv1.ChangeSet, error) {
		if err != nil {
			return nil, err
		}
		return cs, a.c.contents.show(ctx, cs)
	}
}

// signed refuses a request without a name: the history is the audit trail.
func signed(by string) error {
	if by == "" {
		return connect.NewError(connect.CodeInvalidArgument, errors.New("say who asks: by is empty"))
	}
	return nil
}

// errWrongState is wrapped by every refusal of a step.
var errWrongState = errors.New("not possible now")

func (c *Component) rollback(ctx context.Context, req *pushv1.RollbackRequest) (*pushv1.ChangeSet, error) {
	if err := c.kept(ctx, req.GetId()); err != nil {
		return nil, err
	}
	if err := c.undisturbed(ctx, req.GetId()); err != nil {
		return nil, err
	}
	return c.start(ctx, req.GetId(), rollout.Event{Kind: rollout.Rollback, By: req.GetBy(), Text: req.GetNote()})
}

// start starts a run that a person requested. The run is registered in this process before it is recorded,
// so that no other goroutine takes it for one that was left behind.
func (c *Component) start(ctx context.Context, id string, e rollout.Event) (*pushv1.ChangeSet, error) {
	if e.Kind == rollout.Apply || e.Kind == rollout.Begin {
		if err := c.current(ctx, id); err != nil {
			return nil, err
		}
	}
	done, claimed := func() {}, false
	cs, d, err := c.decide(ctx, id, e, func(m *pushv1.ChangeSet, _ rollout.ChangeSet) (err error) {
		if err = whetherKept(m); err != nil {
			return err // it was given up since the rollback was requested
		}
		if err = errors.Join(c.permitted(ctx, m), c.forgetAbort(ctx, id)); err != nil {
			return err
		}
		if err = c.contents.fillAll(ctx, m); err == nil && !claimed {
			done, err = c.active.wait(ctx, id)
			claimed = err == nil
		}
		return err
	})
	if err != nil {
		done()
		return nil, err
	}
	d.next.Moves = nil // they are recorded
	r := c.newRun(cs, d.revision, d.next)
	c.runs.Go(func(ctx context.Context) {
		defer done()
		r.do(ctx, d.actions)
	})
	return cs, nil
}

// undisturbed refuses to roll back while a later change set that touched the same entries is in force.
func (c *Component) undisturbed(ctx context.Context, id string) error {
	all, err := c.list(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(cs *pushv1.ChangeSet) bool { return cs.GetId() == id })
	if i < 0 {
		return fmt.Errorf("change set %s: %w", id, state.ErrNotFound)
	}
	if err := c.contents.fillAll(ctx, all[i]); err != nil {
		if errors.Is(err, errUnreadable) {
			err = fmt.Errorf("%w: %w", errWrongState, err)
		}
		return err
	}
	for _, other := range all {
		if s := states[other.GetState()]; other.GetId() != id && (s.InMotion() || s == rollout.Verified) && after(other, all[i]) {
			err := c.contents.fillAll(ctx, other)
			lost := other.GetCollected() != nil || errors.Is(err, errUnreadable)
			if err != nil && !lost {
				return err
			}
			if lost && len(sharedRouters(all[i], other)) > 0 {
				return fmt.Errorf("change set %s was applied later, and its plan is not kept any more, so it is unknown whether %s can be rolled back before it: %w",
					other.GetId(), id, errWrongState)
			}
			if shared := sharedEntries(all[i], other); len(shared) > 0 {
				return fmt.Errorf("change set %s was applied later and changed the same config entries, so %s cannot be rolled back before it: %w; roll back %s first (%s)",
					other.GetId(), id, errWrongState, other.GetId(), strings.Join(shared, ", "))
			}
		}
	}
	return nil
}

// after compares when two change sets were applied, not when they were created.
func after(a, b *pushv1.ChangeSet) bool { return appliedAt(a) > appliedAt(b) }

func appliedAt(cs *pushv1.ChangeSet) int64 {
	for _, t := range cs.GetHistory() {
		if s := t.GetState(); s == pushv1.State_STATE_APPLYING || s == pushv1.State_STATE_CANARY {
			return t.GetTime().AsTime().UnixNano()
		}
	}
	return 0
}

// sharedEntries names the entries that a changed and b changed to another value, at most three, each after
// its router. A repair of a changes entries to a's values, so it does not count.
func sharedEntries(a, b *pushv1.ChangeSet) []string {
	touched := map[string]string{}
	for _, d := range a.GetDevices() {
		for _, u := range d.GetEntries() {
			touched[d.GetDevice()+" "+u.GetPath()] = u.GetAfter()
		}
	}
	var out []string
	for _, d := range b.GetDevices() {
		for _, u := range d.GetEntries() {
			name := d.GetDevice() + " " + u.GetPath()
			if after, ok := touched[name]; ok && after != u.GetAfter() && len(out) < 3 {
				out = append(out, name)
			}
		}
	}
	return out
}
