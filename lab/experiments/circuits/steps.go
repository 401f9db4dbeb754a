package circuits

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/lab/experiments/controlplane"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	pathsv1 "github.com/millrace/millrace/proto/gen/millrace/paths/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	topologyv1 "github.com/millrace/millrace/proto/gen/millrace/topology/v1"
)

// policy is the one with which circuits are put on routers.
const policy = "circuits-two-queue"

const configuration = `flow: {listen: ["%s:2055"]}
topology: {interval: 2s, timeout: 30s}
telemetry: {interval: 2s}
alpha: {nightly_at: ""}
circuits: {topology: 1s, restore: {after: 2s}, provision: {policy: ` + policy + `, lead: %s}, projects: {physics: {members: [ann]}}}
`

// lead is how long before its start a circuit is put on routers. The volume's is twice the default: its transfer begins
// with its slot, on a busy machine too.
func (r *run) lead() time.Duration {
	if _, night := r.Scenario.Phase("night"); night {
		return 10 * time.Second
	}
	return 5 * time.Second
}

// startPlane starts `millrace up` and waits until it knows the network.
func (r *run) startPlane(ctx context.Context) error {
	if err := r.StartPlane(ctx, fmt.Sprintf(configuration, lab.ControllerAddress, r.lead())); err != nil {
		return err
	}
	return r.awaitTopology(ctx)
}

// awaitTopology waits until the control plane knows every router and link.
func (r *run) awaitTopology(ctx context.Context) error {
	links := 0
	for _, l := range r.Scenario.Links {
		if r.Scenario.BetweenRouters(l) {
			links += 2 // one for each direction
		}
	}
	routers := len(r.Scenario.Routers)
	return r.Plane.Until(ctx, time.Minute, "all routers and links are in the topology", func(ctx context.Context) (bool, error) {
		t, err := r.Plane.Paths.Topology(ctx, connect.NewRequest(&pathsv1.TopologyRequest{}))
		if err == nil && known(t.Msg.GetSnapshot(), routers, links) {
			return true, nil
		}
		_, refreshed := r.Plane.Topology.Refresh(ctx, connect.NewRequest(&topologyv1.RefreshRequest{}))
		return false, errors.Join(controlplane.UnlessUnavailable(err), controlplane.UnlessUnavailable(refreshed))
	})
}

// known reports whether a topology has so many routers, each with its name and its interfaces, and links.
func known(s *topologyv1.TopologySnapshot, routers, links int) bool {
	silent := slices.ContainsFunc(s.GetNodes(), func(n *topologyv1.Node) bool { return n.GetName() == "" || len(n.GetInterfaces()) == 0 })
	return !silent && len(s.GetNodes()) >= routers && len(s.GetLinks()) >= links
}

// queues puts the policy in force, which without a circuit is queues on every port.
func (r *run) queues(ctx context.Context) error {
	r.Say("the operator puts policy %s in force", policy)
	created, err := r.Plane.Changes.Create(ctx, connect.NewRequest(&pushv1.CreateRequest{Policy: policy, Author: "scenario", Reason: "circuits are to come"}))
	if err != nil {
		return err
	}
	id := created.Msg.GetChange().GetId()
	if s := created.Msg.GetChange().GetState(); s != pushv1.State_STATE_PLANNED {
		return fmt.Errorf("change set %s is %s: %v", id, s, created.Msg.GetChange().GetNotes())
	}
	if _, err := r.Plane.Changes.Approve(ctx, connect.NewRequest(&pushv1.ApproveRequest{Id: id, By: "scenario", Apply: true})); err != nil {
		return fmt.Errorf("approve: %w", err)
	}
	_, err = r.Plane.AwaitState(ctx, id, pushv1.State_STATE_VERIFIED)
	return err
}

// dumpBefore remembers every router's kernel and FRR state, to be compared after the circuit's end.
func (r *run) dumpBefore(ctx context.Context) (err error) {
	r.before, err = r.Lab.Dump(ctx)
	return err
}

// dumpAfter compares every router's state with what it was before the circuit.
func (r *run) dumpAfter(ctx context.Context) error {
	after, err := r.Lab.DumpSettled(ctx, r.before)
	if err != nil {
		return err
	}
	clean := true
	for router, text := range r.before {
		is := after[router]
		if !r.lost.IsZero() {
			text, is = withoutOSPF(text), withoutOSPF(is)
		}
		if text != is {
			clean = false
			r.Say("  %s is not as before: %s", router, differs(text, is))
		}
	}
	r.metric("clean", clean)
	return nil
}

// withoutOSPF is a dump without the routes, labels and next hops of OSPF: after a link was gone it has other labels for
// its neighbours, and the same next hops in another order.
func withoutOSPF(text string) string {
	var out []string
	section := ""
	for _, line := range strings.Split(text, "\n") {
		if name, begins := strings.CutPrefix(line, "== "); begins {
			section = name
		}
		if section != "nexthops" && !strings.Contains(line, " proto ospf") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

// differs names the first lines that one text has and the other one lacks.
func differs(was, is string) string {
	lines := func(of, but string) (out []string) {
		for _, line := range strings.Split(of, "\n") {
			if len(out) < 3 && !strings.Contains("\n"+but+"\n", "\n"+line+"\n") {
				out = append(out, line)
			}
		}
		return out
	}
	return fmt.Sprintf("it lacks %q and has %q", lines(was, is), lines(is, was))
}

// metric records a yes or no about the circuit.
func (r *run) metric(name string, yes bool) { r.Result.Metrics["external/circuit/"+name] = one(yes) }

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// awaitActive waits for the circuit's start.
func (r *run) awaitActive(ctx context.Context) error {
	start := r.circuit.GetTerms().GetStart().AsTime()
	r.Say("the circuit starts at %s; wait until it is active", start.Format(time.TimeOnly))
	if err := r.awaitState(ctx, circuitsv1.State_STATE_ACTIVE); err != nil {
		return err
	}
	after := r.circuit.GetReady().AsTime().Sub(start)
	r.Result.Metrics["external/circuit/active_after_start_s"] = after.Seconds()
	r.metric("late_told", r.circuit.GetLate() == (after >= time.Second))
	r.Say("  active %.1f s after its start", after.Seconds())
	all, err := r.Plane.Changes.List(ctx, connect.NewRequest(&pushv1.ListRequest{}))
	if err != nil {
		return err
	}
	sets := 0
	for _, c := range all.Msg.GetChanges() {
		if c.GetForCircuits() {
			sets++
			r.Say("  change set %s: %s", c.GetId(), c.GetReason())
		}
	}
	r.Result.Metrics["external/circuit/change_sets"] = float64(sets)
	return waitUntil(ctx, start)
}

// waitUntil waits for a moment of the story.
func waitUntil(ctx context.Context, at time.Time) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Until(at)):
		return nil
	}
}

// awaitReleased waits for the circuit's end.
func (r *run) awaitReleased(ctx context.Context) error {
	end := r.circuit.GetTerms().GetEnd().AsTime()
	r.Say("the circuit ends at %s; wait until it is released", end.Format(time.TimeOnly))
	if time.Now().After(end) {
		return fmt.Errorf("this machine is too slow: the circuit ended at %s, before its traffic did", end)
	}
	if err := r.awaitState(ctx, circuitsv1.State_STATE_RELEASED); err != nil {
		return err
	}
	r.metric("released", true)
	return nil
}
