package circuits

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/services/circuits/statement"
)

const (
	// usageWindow is how far back usage goes where nothing is said, statementWindow a statement.
	usageWindow     = 24 * time.Hour
	statementWindow = 30 * 24 * time.Hour
	// usageCircuits is how many circuits one request to the flow store names.
	usageCircuits = 1000
)

var errNoFlowStore = errors.New("there is no flow store that keeps what circuits send; host it, or give its endpoint")

// usageOf is the window to ask the flow store about: nothing was sent before a circuit was requested, nor in the
// future.
func usageOf(from, to *timestamppb.Timestamp, created, otherwise, now time.Time) (time.Time, time.Time, error) {
	for i, at := range [2]*timestamppb.Timestamp{from, to} {
		if at != nil && at.CheckValid() != nil {
			return now, now, wrong([2]string{"from", "to"}[i], "it is no time")
		}
	}
	begin, end := otherwise, now
	if from != nil {
		begin = from.AsTime()
	}
	if to != nil {
		end = to.AsTime()
	}
	if from != nil && !begin.Before(end) {
		return now, now, wrong("to", "it must be after from")
	}
	if begin.Before(created) {
		begin = created
	}
	if end.After(now) {
		end = now
	}
	return begin, end, nil
}

// onItsWay is how long a count may need from a router to the store.
const onItsWay = time.Minute

// unheard reports whether a circuit between ports was active, and the router at one of its ports said nothing: 0 would
// then be no count. Of the last minute nothing may have come yet. Routers that cannot count what circuits for packets
// send, as Junos, are not looked for.
func unheard(c *circuitsv1.Circuit, u *flowv1.CircuitUsage, from, to, now time.Time) bool {
	if latest := now.Add(-onItsWay); to.After(latest) {
		to = latest
	}
	silent := between(c.GetTerms()) && !(u.GetCounted() && u.GetReturnCounted())
	return silent && from.Before(to) && statement.Of(c, from.Unix(), to.Unix()).Active > 0
}

// sent asks the flow store, and answers of as many circuits as were requested.
func (a *api) sent(ctx context.Context, ask *flowv1.CircuitUsageRequest) (*flowv1.CircuitUsageResponse, error) {
	said, err := a.c.deps.Flows.CircuitUsage(ctx, connect.NewRequest(ask))
	switch {
	case err != nil && connect.CodeOf(err) == connect.CodeInvalidArgument:
		return nil, wrong("from", "the flow store has nothing of such a window: %s", err)
	case err != nil:
		return nil, fmt.Errorf("what circuits sent is not known now: %w", err)
	case len(said.Msg.GetCircuits()) != len(ask.GetCircuits()):
		return nil, fmt.Errorf("the flow store was asked of %d circuits, and answered of %d", len(ask.GetCircuits()), len(said.Msg.GetCircuits()))
	}
	return said.Msg, nil
}

// Usage implements CircuitsService.
func (a *api) Usage(ctx context.Context, r *connect.Request[circuitsv1.UsageRequest]) (*connect.Response[circuitsv1.UsageResponse], error) {
	record, err := a.c.ledger.Find(ctx, r.Msg.GetId())
	if err != nil {
		return nil, answer(err)
	}
	c, now := record.GetCircuit(), a.c.deps.Now()
	otherwise := now.Add(-usageWindow)
	if start := c.GetSlots()[0].GetStart().AsTime(); start.After(otherwise) {
		otherwise = start
	}
	from, to, err := usageOf(r.Msg.GetFrom(), r.Msg.GetTo(), c.GetCreated().AsTime(), otherwise, now)
	if err != nil {
		return nil, answer(err)
	}
	out := &circuitsv1.UsageResponse{Id: c.GetId(), StepSeconds: 60, BetweenPorts: between(c.GetTerms()), Total: &circuitsv1.UsagePoint{Time: timestamppb.New(from)}}
	if a.c.deps.Flows == nil {
		return nil, answer(errNoFlowStore)
	}
	if !from.Before(to) {
		return connect.NewResponse(out), nil // it has not begun
	}
	said, err := a.sent(ctx, &flowv1.CircuitUsageRequest{Circuits: []string{c.GetId()}, From: timestamppb.New(from), To: timestamppb.New(to)})
	if err != nil {
		return nil, answer(err)
	}
	out.StepSeconds, out.CarriedUnknown = said.GetStepSeconds(), unheard(c, said.GetCircuits()[0], from, to, now)
	for _, p := range said.GetCircuits()[0].GetPoints() {
		point := &circuitsv1.UsagePoint{
			Time: p.GetTime(), InProfileOctets: int64(p.GetInProfileOctets()), InProfilePackets: int64(p.GetInProfilePackets()),
			ExcessOctets: int64(p.GetExcessOctets()), ExcessPackets: int64(p.GetExcessPackets()),
			ReturnOctets: int64(p.GetReturnOctets()), ReturnPackets: int64(p.GetReturnPackets()),
		}
		out.Points = append(out.Points, point)
		out.Total.InProfileOctets += point.GetInProfileOctets()
		out.Total.InProfilePackets += point.GetInProfilePackets()
		out.Total.ExcessOctets += point.GetExcessOctets()
		out.Total.ExcessPackets += point.GetExcessPackets()
		out.Total.ReturnOctets += point.GetReturnOctets()
		out.Total.ReturnPackets += point.GetReturnPackets()
	}
	return connect.NewResponse(out), nil
}

// Statement implements CircuitsService.
func (a *api) Statement(ctx context.Context, r *connect.Request[circuitsv1.StatementRequest]) (*connect.Response[circuitsv1.StatementResponse], error) {
	if checkName(r.Msg.GetProject()) != nil {
		return nil, answer(wrong("project", "%s", errName))
	}
	now := a.c.deps.Now().Truncate(time.Second)
	end := now
	if to := r.Msg.GetTo(); to != nil && to.CheckValid() == nil && to.AsTime().Before(now) {
		end = to.AsTime()
	}
	from, to, err := usageOf(r.Msg.GetFrom(), r.Msg.GetTo(), time.Unix(0, 0), end.Add(-statementWindow), now)
	if err != nil {
		return nil, answer(err)
	}
	if to.Before(from) {
		to = from // all of it is in the future
	}
	out := &circuitsv1.StatementResponse{Project: r.Msg.GetProject(), From: timestamppb.New(from), To: timestamppb.New(to)}
	circuits, total, err := a.lines(out)
	if err != nil {
		return nil, answer(err)
	}
	out.Total = lineOf("", "", total)
	if a.c.deps.Flows == nil {
		out.CarriedUnknown = true
		for _, line := range append(out.GetCircuits(), out.GetTotal()) {
			line.CarriedUnknown = true
		}
	} else if from.Before(to) {
		if err := a.carried(ctx, out, circuits); err != nil {
			return nil, answer(err)
		}
	}
	return connect.NewResponse(out), nil
}

// lines adds the circuits of a statement's project that had something in its window.
func (a *api) lines(out *circuitsv1.StatementResponse) (circuits []*circuitsv1.Circuit, total statement.Line, err error) {
	err = a.c.ledger.Look("", func(all func(func(*circuitsv1.Record) bool)) {
		for record := range all {
			c := record.GetCircuit()
			if c.GetTerms().GetProject() != out.GetProject() {
				continue
			}
			if line := statement.Of(c, out.GetFrom().GetSeconds(), out.GetTo().GetSeconds()); line.Had() {
				circuits, total = append(circuits, c), total.Add(line)
				out.Circuits = append(out.Circuits, lineOf(c.GetId(), c.GetTerms().GetDescription(), line))
			}
		}
	})
	return circuits, total, err
}

func lineOf(id, description string, l statement.Line) *circuitsv1.StatementLine {
	return &circuitsv1.StatementLine{
		Circuit: id, Description: description, BookedGbitHours: l.GbitHours(), ActiveSeconds: l.Active, InterruptedSeconds: l.Interrupted,
		LateStarts: l.LateStarts, Incomplete: l.Incomplete,
	}
}

// carried fills in what each circuit of a statement sent.
func (a *api) carried(ctx context.Context, out *circuitsv1.StatementResponse, circuits []*circuitsv1.Circuit) error {
	first := out.GetTo().AsTime()
	for _, c := range circuits {
		if created := c.GetCreated().AsTime(); created.Before(first) {
			first = created
		}
	}
	// Nothing was sent before the first of them, and a store does not keep every time there is.
	if from := out.GetFrom().AsTime(); first.Before(from) {
		first = from
	}
	if !first.Before(out.GetTo().AsTime()) {
		return nil
	}
	lines := out.GetCircuits()
	for some := range slices.Chunk(circuits, usageCircuits) {
		ask := &flowv1.CircuitUsageRequest{From: timestamppb.New(first), To: out.GetTo(), Totals: true}
		for _, c := range some {
			ask.Circuits = append(ask.Circuits, c.GetId())
		}
		said, err := a.sent(ctx, ask)
		if err != nil {
			return err
		}
		for i, u := range said.GetCircuits() {
			line := lines[i]
			addSent(line, some[i].GetTerms(), u)
			out.Total.CarriedOctets += line.GetCarriedOctets()
			out.Total.ExcessOctets += line.GetExcessOctets()
			if unheard(some[i], u, first, out.GetTo().AsTime(), a.c.deps.Now()) {
				line.CarriedUnknown, out.Total.CarriedUnknown, out.CarriedUnknown = true, true, true
			}
		}
		lines = lines[len(some):]
	}
	return nil
}

// addSent adds to a line what a circuit sent, in both directions where it has two.
func addSent(line *circuitsv1.StatementLine, t *circuitsv1.Terms, u *flowv1.CircuitUsage) {
	for _, p := range u.GetPoints() {
		excess := int64(p.GetExcessOctets())
		line.ExcessOctets += excess
		line.CarriedOctets += int64(p.GetInProfileOctets()) + int64(p.GetReturnOctets())
		if t.GetExcess() != circuitsv1.Excess_EXCESS_DROP {
			line.CarriedOctets += excess
		}
	}
}
