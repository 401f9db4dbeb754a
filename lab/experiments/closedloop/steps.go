package closedloop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/lab"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	splitv1 "github.com/millrace/millrace/proto/gen/millrace/split/v1"
)

// policy is a file beside the scenario, and the port is the one that alpha and beta share, in which beta has its queue.
const (
	policy = "hntes-loop"
	router = "WR"
	port   = "ge-er"
	beta   = "te-beta"
)

// UDP stands for the traffic of many hosts, none of which is alpha: an alpha flow is one that has more than 40 Mbit/s
// of the link for 20 s. The rest is what an operator has without a file.
const configuration = `flow: {listen: ["%s:2055"]}
telemetry: {interval: 2s}
topology: {timeout: 30s}
alpha: {nightly_at: "", policy: ` + policy + `, rule: {min_bytes: 100000000, interval: 20s}, online: {mode: propose}}
policy: {dir: %s}
push: {approval_of: {` + policy + `: {rule: auto}}}
`

// fixed are the phases after the loop, with the share of beta that a person gives the port before each.
var fixed = []struct {
	phase string
	share uint32
}{{"fixed-80-20", 20}, {"fixed-80-30", 20}, {"fixed-95-30", 5}}

// story runs the loop and then each fixed split.
func (r *run) story(ctx context.Context) error {
	if err := r.startPlane(ctx); err != nil {
		return fmt.Errorf("control plane: %w", err)
	}
	r.Say("loop: a transfer that nobody knows, beside UDP that grows")
	if _, err := r.Phase(ctx, "loop", lab.Observer{}); err != nil {
		return err
	}
	if err := r.conclude(ctx); err != nil {
		return fmt.Errorf("what became of the loop: %w", err)
	}
	alone := time.Now()
	for _, f := range fixed {
		if err := r.share(ctx, f.share); err != nil {
			return fmt.Errorf("a share of %d %%: %w", f.share, err)
		}
		if _, err := r.Phase(ctx, f.phase, lab.Observer{}); err != nil {
			return err
		}
	}
	if err := r.queueDelay(ctx, r.Result.Phases[1]); err != nil {
		return fmt.Errorf("beta's delay by telemetry: %w", err)
	}
	return r.leftAlone(ctx, alone)
}

// startPlane starts `millrace up` and waits until it knows the network.
func (r *run) startPlane(ctx context.Context) error {
	file, err := r.Scenario.Policy(policy)
	if err != nil {
		return fmt.Errorf("read the policy: %w", err)
	}
	policies := filepath.Join(r.Output, "policies")
	if err := errors.Join(os.MkdirAll(policies, 0o755), os.WriteFile(filepath.Join(policies, policy+".yaml"), file.Text, 0o644)); err != nil {
		return fmt.Errorf("write the policy: %w", err)
	}
	if err := r.StartPlane(ctx, fmt.Sprintf(configuration, lab.ControllerAddress, policies)); err != nil {
		return err
	}
	return r.Plane.AwaitNetwork(ctx, r.Lab)
}

// share has a person give beta a fixed share of the port, and waits until the router has it.
func (r *run) share(ctx context.Context, percent uint32) error {
	r.Say("a person gives beta %d %% of the port", percent)
	made, err := r.Plane.Changes.Create(ctx, connect.NewRequest(&pushv1.CreateRequest{
		Title: fmt.Sprintf("beta has %d %%", percent), Author: "scenario", Reason: "a fixed split, to compare with", Policy: policy,
		Splits: []*policyv1.PortSplit{{Router: router, Interface: port, Beta: percent}},
	}))
	if err != nil {
		return err
	}
	if made.Msg.GetChange().GetState() == pushv1.State_STATE_EMPTY {
		return nil // the port has it
	}
	_, err = r.Plane.AwaitState(ctx, made.Msg.GetChange().GetId(), pushv1.State_STATE_VERIFIED)
	return err
}

// leftAlone notes whether the loop has left the port to the person since a time, and goes on to.
func (r *run) leftAlone(ctx context.Context, since time.Time) error {
	asked := time.Now()
	err := r.Plane.Until(ctx, 2*time.Minute, "the loop has decided again", func(ctx context.Context) (bool, error) {
		status, err := r.Plane.Split.Status(ctx, connect.NewRequest(&splitv1.StatusRequest{}))
		if err != nil || status.Msg.GetDecided().AsTime().Before(asked) {
			return false, err
		}
		r.Metric("person/held", 0)
		for _, p := range status.Msg.GetPorts() {
			if p.GetRouter() == router && p.GetInterface() == port && p.GetHeldUntil().AsTime().After(asked) {
				r.Metric("person/held", 1)
			}
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	list, err := r.Plane.Changes.List(ctx, connect.NewRequest(&pushv1.ListRequest{Brief: true}))
	if err != nil {
		return err
	}
	r.Metric("person/moves", float64(requested(list.Msg.GetChanges(), since)))
	return nil
}
