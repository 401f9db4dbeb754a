package online

import (
	"context"
	"fmt"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sync/errgroup"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/lab/experiments/controlplane"
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
func (r *run) startPlane(ctx context.Context) (err error) {
	r.say("start the control plane beside the routers")
	settings := fmt.Sprintf(configuration, lab.ControllerAddress)
	if r.plane, err = controlplane.Start(ctx, r.lab, controlplane.Options{Output: r.Output, Listen: r.Listen, Settings: settings}); err != nil {
		return err
	}
	r.say("  dashboard: %s", r.plane.URL)
	if err := controlplane.AnnounceTemplates(ctx, r.lab); err != nil {
		return err
	}
	return r.plane.AwaitNetwork(ctx, r.lab)
}

func (r *run) phase(ctx context.Context, name string) (*lab.PhaseResult, error) {
	p, err := r.lab.RunPhase(ctx, name, lab.Observer{Progress: func(s string) { r.say("  %s", s) }})
	if err == nil {
		r.result.Phases = append(r.result.Phases, p)
	}
	return p, err
}

func (r *run) idle(ctx context.Context) error {
	r.say("idle: nothing but a ping")
	_, err := r.phase(ctx, "idle")
	return err
}

// online runs the transfer, and meanwhile what an operator does.
func (r *run) online(ctx context.Context) error {
	r.say("online: a transfer that nobody knows begins")
	both, during := errgroup.WithContext(ctx)
	var p *lab.PhaseResult
	both.Go(func() (err error) {
		p, err = r.phase(during, "online")
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
	r.metric("alarm/known", boolean(known != nil))
	return r.conclude(p)
}

// operate waits for the alarm, clicks once, and waits until routers have the change set.
func (r *run) operate(ctx context.Context) error {
	err := r.plane.Until(ctx, 2*time.Minute, "the transfer raises an alarm", func(ctx context.Context) (ok bool, err error) {
		r.alarm, err = r.find(ctx, func(m *alphav1.AlphaNow) bool { return m.GetState() == alphav1.NowState_NOW_STATE_UNIDENTIFIED })
		r.seen = time.Now()
		return r.alarm != nil, err
	})
	if err != nil {
		return err
	}
	p := r.alarm.GetPair()
	r.say("  alarm: %s to %s, and no pair in force has it", p.GetSrc(), p.GetDst())
	r.clicked = time.Now()
	answer, err := r.plane.Alpha.Redirect(ctx, connect.NewRequest(&alphav1.RedirectRequest{Pair: p.GetId(), By: "scenario", Note: "Ping suffers."}))
	if err != nil {
		return fmt.Errorf("redirect now: %w", err)
	}
	id := answer.Msg.GetChangeId()
	r.say("  one click: change set %s", id)
	return r.plane.Until(ctx, 2*time.Minute, "change set "+id+" is verified", func(ctx context.Context) (bool, error) {
		got, err := r.plane.Changes.Get(ctx, connect.NewRequest(&pushv1.GetRequest{Id: id}))
		if err != nil {
			return false, err
		}
		r.changed = got.Msg.GetChange()
		switch s := r.changed.GetState(); s {
		case pushv1.State_STATE_FAILED, pushv1.State_STATE_ROLLED_BACK:
			return false, fmt.Errorf("it is %s: %s", s, r.changed.GetHistory()[len(r.changed.GetHistory())-1].GetNote())
		default:
			return s == pushv1.State_STATE_VERIFIED, nil
		}
	})
}

// find is the first pair that is alpha now and fits; nil where none does.
func (r *run) find(ctx context.Context, fits func(*alphav1.AlphaNow) bool) (*alphav1.AlphaNow, error) {
	answer, err := r.plane.Alpha.Now(ctx, connect.NewRequest(&alphav1.NowRequest{}))
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

func (r *run) metric(name string, value float64) { r.result.Metrics["external/"+name] = value }

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
