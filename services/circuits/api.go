package circuits

import (
	"context"
	"errors"
	"unicode/utf8"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/state"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/admit"
	"github.com/millrace/millrace/services/circuits/ledger"
	"github.com/millrace/millrace/services/circuits/life"
)

// api serves CircuitsService.
type api struct{ c *Component }

// answer is what an error is to a client. A refusal goes with it as a detail.
func answer(err error) error {
	if errors.Is(err, ledger.ErrTooLarge) {
		err = tooLarge(err)
	}
	var no refused
	if errors.As(err, &no) {
		out := connect.NewError(codes[no.GetCode()], errors.New(no.GetReason()))
		if codes[no.GetCode()] == 0 {
			out = connect.NewError(connect.CodeFailedPrecondition, errors.New(no.GetReason()))
		}
		detail, err := connect.NewErrorDetail(no.Refusal)
		if err != nil {
			return connect.NewError(connect.CodeInternal, err)
		}
		out.AddDetail(detail)
		return out
	}
	for _, known := range []struct {
		err  error
		code connect.Code
	}{
		{ledger.ErrNoCircuit, connect.CodeNotFound},
		{ledger.ErrNoMaintenance, connect.CodeNotFound},
		{ledger.ErrOtherRequest, connect.CodeAlreadyExists},
		{errTransition, connect.CodeFailedPrecondition},
		{context.Canceled, connect.CodeCanceled},
	} {
		if errors.Is(err, known.err) {
			return connect.NewError(known.code, err)
		}
	}
	if errors.Is(err, state.ErrConflict) {
		return connect.NewError(connect.CodeAborted, err)
	}
	return connect.NewError(connect.CodeUnavailable, err)
}

// tooLarge is a refusal of what etcd does not take.
func tooLarge(err error) error {
	return refuse(string(admit.SearchBound), "", "%s; request less at once, or what displaces fewer circuits", err)
}

// codes of refusals; what is not here depends on what is booked.
var codes = map[string]connect.Code{
	string(admit.BadRequest): connect.CodeInvalidArgument, codePolicy: connect.CodePermissionDenied, codeQuota: connect.CodeResourceExhausted,
	codeOutdated: connect.CodeAborted,
}

// Quote implements CircuitsService.
func (a *api) Quote(_ context.Context, r *connect.Request[circuitsv1.QuoteRequest]) (*connect.Response[circuitsv1.QuoteResponse], error) {
	c := a.c
	if err := checkTerms(r.Msg.GetTerms()); err != nil {
		return nil, answer(err)
	}
	id, err := newID()
	if err != nil {
		return nil, answer(err)
	}
	out := &circuitsv1.QuoteResponse{}
	looked := c.ledger.Look("", func(func(func(*circuitsv1.Record) bool)) {
		var d decision
		if d, err = c.book.decide(id, r.Msg.GetBy(), normal(r.Msg.GetTerms()), true, c.deps.Now()); err == nil {
			out.Slots, out.Path, out.Backup = slotsOf(d.Grant), c.book.hopsOf(d.Path), c.book.hopsOf(d.Backup)
			out.Back, out.FromVlan, out.ToVlan = c.book.backHops(d.back), int32(d.on.vlans[0]), int32(d.on.vlans[1])
			out.WouldDisplace = answerOf(d.displaced)
		}
	})
	if err := errors.Join(looked, err); err != nil {
		var no refused
		if !errors.As(err, &no) || codes[no.GetCode()] == connect.CodeInvalidArgument {
			return nil, answer(err)
		}
		out.Refusal = no.Refusal
	}
	return connect.NewResponse(out), nil
}

// Request implements CircuitsService.
func (a *api) Request(ctx context.Context, r *connect.Request[circuitsv1.RequestRequest]) (*connect.Response[circuitsv1.RequestResponse], error) {
	record, err := a.c.request(ctx, r.Msg)
	count(a.c.metrics.requests, err)
	if err != nil {
		return nil, answer(err)
	}
	return connect.NewResponse(&circuitsv1.RequestResponse{Circuit: record.GetCircuit()}), nil
}

func (c *Component) request(ctx context.Context, ask *circuitsv1.RequestRequest) (*circuitsv1.Record, error) {
	if checkName(ask.GetRequestId()) != nil {
		return nil, wrong("request_id", "%s", errName)
	}
	if err := checkTerms(ask.GetTerms()); err != nil {
		return nil, err
	}
	// A client that may not book for the project does not learn which request ids it used.
	if err := c.cfg.may(ask.GetBy(), ask.GetTerms().GetProject()); err != nil {
		return nil, err
	}
	sum, err := digest(ask)
	if err != nil {
		return nil, err
	}
	id, err := newID()
	if err != nil {
		return nil, err
	}
	now := c.deps.Now()
	asked := ledger.Request{Project: ask.GetTerms().GetProject(), ID: ask.GetRequestId(), Digest: sum, Expires: now.Add(c.cfg.RequestIDs)}
	var moves []life.Move
	var others []displaced
	records, err := c.ledger.EnterBeside(ctx, asked, func() (_, _ []*circuitsv1.Record, err error) {
		var is *circuitsv1.Record
		if is, moves, others, err = c.book.booked(id, ask, true, now); err == nil {
			err = c.book.mayDisplace(ctx, others)
		}
		return []*circuitsv1.Record{is}, recordsOf(others), err
	})
	if err != nil {
		return nil, err
	}
	record := records[0]
	if record.GetCircuit().GetId() != id {
		return record, nil
	}
	c.publish(ctx, record, moves)
	c.publishDisplaced(ctx, others)
	return c.scheduled(ctx, record), nil
}

// Commit implements CircuitsService.
func (a *api) Commit(ctx context.Context, r *connect.Request[circuitsv1.CommitRequest]) (*connect.Response[circuitsv1.CommitResponse], error) {
	record, err := a.c.asked(ctx, r.Msg.GetId(), life.Event{Kind: life.Commit, By: r.Msg.GetBy(), Text: r.Msg.GetNote(), Now: a.c.deps.Now().Unix()})
	if err != nil {
		return nil, answer(err)
	}
	return connect.NewResponse(&circuitsv1.CommitResponse{Circuit: a.c.scheduled(ctx, record).GetCircuit()}), nil
}

// scheduled is a committed circuit after it was looked whether its path is there.
func (c *Component) scheduled(ctx context.Context, record *circuitsv1.Record) *circuitsv1.Record {
	if record.GetCircuit().GetState() != circuitsv1.State_STATE_COMMITTED {
		return record
	}
	if looked, err := c.tellOf(ctx, record.GetCircuit().GetId(), c.pathEvent); err == nil {
		return looked
	}
	return record // it is committed, and its path is looked at again in a second
}

// Extend implements CircuitsService.
func (a *api) Extend(ctx context.Context, r *connect.Request[circuitsv1.ExtendRequest]) (*connect.Response[circuitsv1.ExtendResponse], error) {
	now := a.c.deps.Now()
	until := r.Msg.GetUntil()
	switch {
	case !until.IsValid():
		return nil, answer(wrong("until", "say when the hold is to end"))
	case until.GetSeconds() > now.Add(a.c.cfg.Hold).Unix():
		return nil, answer(wrong("until", "a hold is extended to %s from now at most", a.c.cfg.Hold))
	}
	record, err := a.c.asked(ctx, r.Msg.GetId(), life.Event{Kind: life.Extend, By: r.Msg.GetBy(), Now: now.Unix(), Until: until.GetSeconds()})
	if err != nil {
		return nil, answer(err)
	}
	return connect.NewResponse(&circuitsv1.ExtendResponse{Circuit: record.GetCircuit()}), nil
}

// Release implements CircuitsService.
func (a *api) Release(ctx context.Context, r *connect.Request[circuitsv1.ReleaseRequest]) (*connect.Response[circuitsv1.ReleaseResponse], error) {
	record, err := a.c.asked(ctx, r.Msg.GetId(), life.Event{Kind: life.Release, By: r.Msg.GetBy(), Text: r.Msg.GetNote(), Now: a.c.deps.Now().Unix()})
	if err != nil {
		return nil, answer(err)
	}
	return connect.NewResponse(&circuitsv1.ReleaseResponse{Circuit: record.GetCircuit()}), nil
}

// Activate implements CircuitsService.
func (a *api) Activate(ctx context.Context, r *connect.Request[circuitsv1.ActivateRequest]) (*connect.Response[circuitsv1.ActivateResponse], error) {
	record, err := a.c.asked(ctx, r.Msg.GetId(), life.Event{Kind: life.Activate, By: r.Msg.GetBy(), Text: r.Msg.GetNote(), Now: a.c.deps.Now().Unix()})
	if err != nil {
		return nil, answer(err)
	}
	return connect.NewResponse(&circuitsv1.ActivateResponse{Circuit: record.GetCircuit()}), nil
}

// Deactivate implements CircuitsService.
func (a *api) Deactivate(ctx context.Context, r *connect.Request[circuitsv1.DeactivateRequest]) (*connect.Response[circuitsv1.DeactivateResponse], error) {
	record, err := a.c.asked(ctx, r.Msg.GetId(), life.Event{Kind: life.Deactivate, By: r.Msg.GetBy(), Text: r.Msg.GetNote(), Now: a.c.deps.Now().Unix()})
	if err != nil {
		return nil, answer(err)
	}
	return connect.NewResponse(&circuitsv1.DeactivateResponse{Circuit: record.GetCircuit()}), nil
}

// asked is what somebody asks of a circuit, who must act for its project.
func (c *Component) asked(ctx context.Context, id string, e life.Event) (*circuitsv1.Record, error) {
	if utf8.RuneCountInString(e.Text) > maxDescription {
		return nil, wrong("note", "at most %d characters", maxDescription)
	}
	record, err := c.ledger.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := c.cfg.may(e.By, record.GetCircuit().GetTerms().GetProject()); err != nil {
		return nil, err
	}
	if err := c.cfg.mayCommit(e.By, record.GetCircuit().GetTerms()); e.Kind == life.Commit && err != nil {
		return nil, err
	}
	return c.tell(ctx, id, e)
}
