package twin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"connectrpc.com/connect"

	twinv1 "github.com/millrace/millrace/proto/gen/millrace/twin/v1"
	"github.com/millrace/millrace/scenario"
	"github.com/millrace/millrace/services/twin/predict"
)

// api is the Connect face of the component. Codes: INVALID_ARGUMENT for what
// cannot be simulated, with the reasons; DEADLINE_EXCEEDED for what takes too
// long; RESOURCE_EXHAUSTED where other predictions took all the time.
type api struct{ c *Component }

// Predict implements TwinService.
func (a *api) Predict(ctx context.Context, req *connect.Request[twinv1.PredictRequest]) (*connect.Response[twinv1.PredictResponse], error) {
	subject, run := "plans", a.c.plans
	switch req.Msg.GetSubject().(type) {
	case *twinv1.PredictRequest_Scenario:
		subject, run = "scenario", a.c.scenario
	case *twinv1.PredictRequest_Plans:
	default:
		return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("nothing to simulate: set a scenario or plans"))
	}
	ctx, cancel := context.WithTimeout(ctx, a.c.cfg.Timeout)
	defer cancel()
	began := time.Now()
	out, err := a.c.inTurn(ctx, req.Msg, run)
	a.c.metrics.seconds.Observe(time.Since(began).Seconds())
	code, result := outcome(err)
	a.c.metrics.predictions.WithLabelValues(subject, result).Inc()
	if err != nil {
		return nil, connect.NewError(code, err)
	}
	a.c.metrics.hops.Add(float64(out.GetPacketHops()))
	return connect.NewResponse(out), nil
}

var (
	errBusy    = errors.New("other predictions took all the time; repeat the request, or raise twin.parallel")
	errTooLong = errors.New("the prediction takes too long; request fewer routers or a shorter scenario, or raise twin.timeout")
)

// outcome is the code of an error, and the label of the metric.
func outcome(err error) (connect.Code, string) {
	switch {
	case err == nil:
		return 0, "done"
	case errors.Is(err, errBusy):
		return connect.CodeResourceExhausted, "busy"
	case errors.Is(err, errTooLong):
		return connect.CodeDeadlineExceeded, "timeout"
	case errors.Is(err, context.Canceled):
		return connect.CodeCanceled, "canceled"
	case errors.Is(err, predict.ErrConservation):
		return connect.CodeInternal, "failed"
	}
	return connect.CodeInvalidArgument, "refused"
}

type prediction func(context.Context, *twinv1.PredictRequest) (*twinv1.PredictResponse, error)

// inTurn waits until fewer than Parallel predictions run.
func (c *Component) inTurn(ctx context.Context, req *twinv1.PredictRequest, run prediction) (*twinv1.PredictResponse, error) {
	select {
	case c.turns <- struct{}{}:
		defer func() { <-c.turns }()
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return nil, errBusy
		}
		return nil, ctx.Err()
	}
	out, err := run(ctx, req)
	if errors.Is(err, context.DeadlineExceeded) {
		err = errTooLong
	}
	return out, err
}

// scenario simulates a whole experiment.
func (c *Component) scenario(ctx context.Context, req *twinv1.PredictRequest) (*twinv1.PredictResponse, error) {
	s, err := parse(req.GetScenario())
	if err != nil {
		return nil, err
	}
	r, err := predict.Run(ctx, s, predict.Options{Seed: req.GetSeed()})
	if err != nil {
		return nil, err
	}
	if r.Stopped != "" {
		return nil, ctx.Err()
	}
	out := &twinv1.PredictResponse{Metrics: r.Metrics, PacketHops: uint64(r.Hops)}
	for _, phase := range slices.Sorted(maps.Keys(r.Skipped)) {
		out.Assumptions = append(out.Assumptions, "phase "+phase+" is left out: it requires "+r.Skipped[phase])
	}
	for _, v := range r.Verdicts {
		out.Verdicts = append(out.Verdicts, &twinv1.Verdict{Name: v.Name, Got: v.Got, Bound: v.Bound(), Result: v.Result()})
	}
	return out, nil
}

// maxScenario is some ten times the longest shipped scenario.
const maxScenario = 256 << 10

// parse takes a shipped scenario by name or the text of another; a request opens no file.
func parse(m *twinv1.Scenario) (*scenario.Scenario, error) {
	switch {
	case (m.GetName() == "") == (m.GetText() == ""):
		return nil, errors.New("give a scenario's name or its text")
	case m.GetName() != "":
		return scenario.Shipped(m.GetName())
	}
	if len(m.GetText()) > maxScenario {
		return nil, fmt.Errorf("the scenario has %d bytes, over %d", len(m.GetText()), maxScenario)
	}
	return scenario.Parse("scenario", []byte(m.GetText()))
}
