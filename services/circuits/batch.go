package circuits

import (
	"context"
	"errors"
	"fmt"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/ledger"
	"github.com/millrace/millrace/services/circuits/life"
)

// maxBatch is how many terms a batch has.
const maxBatch = 20

// RequestAll implements CircuitsService.
func (a *api) RequestAll(ctx context.Context, r *connect.Request[circuitsv1.RequestAllRequest]) (*connect.Response[circuitsv1.RequestAllResponse], error) {
	do := a.c.requestAll
	if r.Msg.GetDryRun() {
		do = a.c.quoteAll
	}
	records, err := do(ctx, r.Msg)
	var no refused
	switch {
	case !r.Msg.GetDryRun():
		count(a.c.metrics.requests, err)
	case errors.As(err, &no) && codes[no.GetCode()] != connect.CodeInvalidArgument: // as Quote
		return connect.NewResponse(&circuitsv1.RequestAllResponse{Refusal: no.Refusal}), nil
	}
	if err != nil {
		return nil, answer(err)
	}
	out := &circuitsv1.RequestAllResponse{}
	for _, record := range records {
		out.Circuits = append(out.Circuits, record.GetCircuit())
	}
	return connect.NewResponse(out), nil
}

// quoteAll says what requestAll would book.
func (c *Component) quoteAll(_ context.Context, ask *circuitsv1.RequestAllRequest) (all []*circuitsv1.Record, err error) {
	parts, ids, err := c.parts(ask)
	if err != nil {
		return nil, err
	}
	looked := c.ledger.Look("", func(func(func(*circuitsv1.Record) bool)) {
		all, _, err = c.book.bookedAll(ids, parts, ask, c.deps.Now())
	})
	for _, record := range all {
		record.Circuit.Id = "" // there is no such circuit
	}
	return all, errors.Join(looked, err)
}

func (c *Component) requestAll(ctx context.Context, ask *circuitsv1.RequestAllRequest) ([]*circuitsv1.Record, error) {
	if checkName(ask.GetRequestId()) != nil {
		return nil, wrong("request_id", "%s", errName)
	}
	parts, ids, err := c.parts(ask)
	if err != nil {
		return nil, err
	}
	sum, err := digest(ask)
	if err != nil {
		return nil, err
	}
	now := c.deps.Now()
	asked := ledger.Request{Project: ask.GetTerms()[0].GetProject(), ID: ask.GetRequestId(), Digest: sum, Expires: now.Add(c.cfg.RequestIDs)}
	var moves [][]life.Move
	records, err := c.ledger.EnterAll(ctx, asked, func() (all []*circuitsv1.Record, err error) {
		all, moves, err = c.book.bookedAll(ids, parts, ask, now)
		return all, err
	})
	if err != nil || records[0].GetCircuit().GetId() != ids[0] {
		return records, err
	}
	for i, record := range records {
		c.publish(ctx, record, moves[i])
		records[i] = c.scheduled(ctx, record)
	}
	return records, nil
}

// mayRequestAll refuses what means nothing, whatever is booked.
func (c *Component) mayRequestAll(ask *circuitsv1.RequestAllRequest) error {
	if n := len(ask.GetTerms()); n < 1 || n > maxBatch {
		return wrong("terms", "1 to %d of them", maxBatch)
	}
	for i, t := range ask.GetTerms() {
		if err := checkTerms(t); err != nil {
			return ofTerms(part{of: i}, err)
		}
		if t.GetProject() != ask.GetTerms()[0].GetProject() {
			return ofTerms(part{of: i}, wrong("project", "all circuits of a batch are of one project"))
		}
	}
	if err := checkSpread(ask); err != nil {
		return err
	}
	return c.cfg.may(ask.GetBy(), ask.GetTerms()[0].GetProject())
}

// ofTerms says which terms of a batch were refused, and for which window.
func ofTerms(p part, err error) error {
	var no refused
	if !errors.As(err, &no) {
		return err
	}
	out := proto.CloneOf(no.Refusal)
	out.Field = fmt.Sprintf("terms[%d]", p.of)
	which := out.Field + p.window
	if no.GetField() != "" {
		out.Field += "." + no.GetField()
	}
	out.Reason = fmt.Sprintf("%s: %s", which, no.GetReason())
	return refused{out}
}

// bookedAll are the records of circuits of which each is granted beside those before it. The book is afterwards what it
// was.
func (b *book) bookedAll(ids []string, parts []part, ask *circuitsv1.RequestAllRequest, now time.Time) (all []*circuitsv1.Record, moves [][]life.Move, err error) {
	defer func() {
		for _, record := range all {
			b.count(record, -1)
			b.ports.Remove(record.GetCircuit().GetId())
			b.mustFree(record)
		}
		if err != nil {
			all = nil
		}
	}()
	if ask.GetMaxPaths() > 1 {
		if parts, err = b.spread(ids, parts[0], now); err != nil {
			return nil, nil, err
		}
	}
	for i, p := range parts {
		one := &circuitsv1.RequestRequest{RequestId: ask.GetRequestId(), Terms: p.terms, By: ask.GetBy(), Commit: ask.GetCommit()}
		record, moved, _, err := b.booked(ids[i], one, false, now)
		if err != nil {
			return all, nil, ofTerms(p, err)
		}
		b.mustBook(record)
		b.onPorts(record)
		b.count(record, 1)
		all, moves = append(all, record), append(moves, moved)
	}
	return all, moves, nil
}
