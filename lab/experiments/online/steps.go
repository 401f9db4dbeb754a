package online

import (
	"context"
	"fmt"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sync/errgroup"

	"github.com/millrace/millrace/lab"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// The paper's H and interval (section II), scaled 1:100 like the rest of the scenario. The operator's click is all that
// a person does, so the policy's change sets need no other approval.
const configuration = `flow: {listen: ["%s:2055"]}
telemetry: {interval: 2s}
topology: {timeout: 30s}
alpha: {nightly_at: "", rule: {min_bytes: 10000000, interval: 60s}, online: {mode: alarm}}
push: {approval_of: {hntes-two-queue: {rule: auto}}}
`

// startPlane starts `millrace up` and waits until it knows the network.
func (r *run) startPlane(ctx context.Context) error {
	if err := r.StartPlane(ctx, fmt.Sprintf(configuration, lab.ControllerAddress)); err != nil {
		return err
	}
	return r.Plane.AwaitNetwork(ctx, r.Lab)
}

func (r *run) idle(ctx context.Context) error {
	r.Say("idle: nothing but a ping")
	_, err := r.Phase(ctx, "idle", lab.Observer{})
	return err
}

// online runs the transfer, and meanwhile what an operator does.
func (r *run) online(ctx context.Context) error {
	r.Say("online: a transfer that nobody knows begins")
	both, during := errgroup.WithContext(ctx)
	var p *lab.PhaseResult
	both.Go(func() (err error) {
		p, err = r.Phase(during, "online", lab.Observer{})
		return err
	})
	both.Go(func() error { return r.operate(during) })
	if err := both.Wait(); err != nil {
		return err
	}
	known, err := r.find(ctx, func(m *alphav1.AlphaNow) bool {
		return m.GetPair().GetId() == r.alarm.GetPair().GetId() && m.GetState() == alphav1.NowState_NOW_STATE_KNOWN
	})
	if err != nil {
		return err
	}
	r.Metric("alarm/known", boolean(known != nil))
	return r.conclude(p)
}

// operate waits for the alarm, clicks once, and waits until routers have the change set.
func (r *run) operate(ctx context.Context) error {
	err := r.Plane.Until(ctx, 2*time.Minute, "the transfer raises an alarm", func(ctx context.Context) (ok bool, err error) {
		r.alarm, err = r.find(ctx, func(m *alphav1.AlphaNow) bool { return m.GetState() == alphav1.NowState_NOW_STATE_UNIDENTIFIED })
		r.seen = time.Now()
		return r.alarm != nil, err
	})
	if err != nil {
		return err
	}
	p := r.alarm.GetPair()
	r.Say("  alarm: %s to %s, and no pair in force has it", p.GetSrc(), p.GetDst())
	r.clicked = time.Now()
	answer, err := r.Plane.Alpha.Redirect(ctx, connect.NewRequest(&alphav1.RedirectRequest{Pair: p.GetId(), By: "scenario", Note: "Ping suffers."}))
	if err != nil {
		return fmt.Errorf("redirect now: %w", err)
	}
	id := answer.Msg.GetChangeId()
	r.Say("  one click: change set %s", id)
	r.changed, err = r.Plane.AwaitState(ctx, id, pushv1.State_STATE_VERIFIED)
	return err
}

// find is the first pair that is alpha now and fits; nil where none does.
func (r *run) find(ctx context.Context, fits func(*alphav1.AlphaNow) bool) (*alphav1.AlphaNow, error) {
	answer, err := r.Plane.Alpha.Now(ctx, connect.NewRequest(&alphav1.NowRequest{}))
	if err != nil {
		return nil, err
	}
	for _, m := range answer.Msg.GetPairs() {
		if fits(m) {
			return m, nil
		}
	}
	return nil, nil
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
