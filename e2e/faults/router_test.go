package faults

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/e2e/plane"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/program"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/pushtest"
)

// routerMoments are those of a change set on a router with FRR.
var routerMoments = []string{string(pushtest.BeforeCommit), string(pushtest.Verifying), string(pushtest.BeforeConfirm), rollingBack}

const rollingBack = "rolling back"

// daemonFault is something that becomes of one of FRR's daemons.
type daemonFault struct {
	name         string
	strike, heal func(t *testing.T, r *realRouter)
}

// daemonFaults are those of the daemons that LSPs stand on.
var daemonFaults = []daemonFault{
	{"zebra is killed", killed("zebra"), func(t *testing.T, r *realRouter) { r.frr(t, "restart-all") }},
	daemonStopped("zebra"),
	{"pathd is killed", killed("pathd"), func(t *testing.T, r *realRouter) { r.frr(t, "restart-pathd") }},
	daemonStopped("pathd"),
}

func killed(daemon string) func(t *testing.T, r *realRouter) {
	return func(t *testing.T, r *realRouter) { r.signal(t, daemon, "KILL") }
}

// frr is what watchfrr does: where zebra has ended it restarts every daemon, otherwise the one that has, and has them
// read what an operator saved. What the agent gave FRR is not in it.
func (r *realRouter) frr(t *testing.T, what string) {
	t.Helper()
	r.run(t, "sh", "-ec", `
start() { d=$1; shift; /usr/lib/frr/$d -d -N R1 -u frr -g frr "$@"; }
if [ $0 = restart-all ]; then
	for d in ospfd staticd pathd; do
		pid=$(cat /run/frr/R1/$d.pid); kill $pid
		while [ -e /proc/$pid ] && ! grep -q 'State:.Z' /proc/$pid/status; do sleep 0.1; done
	done
	start zebra; start ospfd; start staticd
fi
start pathd -M pathd_pcep
vtysh -N R1 -f /run/saved.conf`, what)
}

// save is what an operator does once, so that FRR has its configuration after a restart.
func (r *realRouter) save(t *testing.T) {
	t.Helper()
	r.run(t, "sh", "-ec", `vtysh -N R1 -c "show running-config" | sed '/^Building/d; /^Current/d; /^frr version/d' > /run/saved.conf`)
}

// daemonStopped is a daemon that stands still.
func daemonStopped(daemon string) daemonFault {
	return daemonFault{daemon + " stands still",
		func(t *testing.T, r *realRouter) { r.signal(t, daemon, "STOP") },
		func(t *testing.T, r *realRouter) { r.signal(t, daemon, "CONT") }}
}

func (r *realRouter) signal(t *testing.T, daemon, signal string) {
	t.Helper()
	r.run(t, "kill", "-"+signal, strings.TrimSpace(r.run(t, "cat", "/run/frr/R1/"+daemon+".pid")))
}

// TestRouterDaemons: after every fault of FRR under a change set that makes an LSP, the router is in the old or the new
// state, the record says which, what FRR has lost comes back without hands, and the next change set is verified.
func TestRouterDaemons(t *testing.T) {
	if testing.Short() {
		t.Skip("boots a lab; run without -short")
	}
	r := newRealRouter(t)
	r.save(t)
	for i, m := range routerMoments {
		for j, f := range daemonFaults {
			if !*all && (i != 2 || j != 2) { // the one that leaves FRR without the LSP
				continue
			}
			t.Run(f.name+", "+m, func(t *testing.T) {
				row := record(t, m, f.name)
				cs := r.strike(t, m, f)
				row.End = plane.Word(cs.GetState())
				r.judge(t, cs)
				r.goesOn(t, cs)
			})
		}
	}
}

// strike brings a change set to a moment, breaks FRR there, mends it, and waits until the change set ends.
func (r *realRouter) strike(t *testing.T, moment string, f daemonFault) *pushv1.ChangeSet {
	t.Helper()
	id, at := "", pushtest.Moment(moment)
	if moment == rollingBack {
		id, at = r.verified(t), pushtest.BeforeCommit
	}
	h, release := r.gate.holdAt(t, at)
	if moment == rollingBack {
		call(t, "roll back "+id, r.push.Rollback, &pushv1.RollbackRequest{Id: id, By: "operator", Note: "a test of faults"})
	} else {
		id = r.apply(t)
	}
	await.Value(t, moment, h.reached)
	f.strike(t, r)
	release()
	time.Sleep(plane.Away)
	f.heal(t, r)
	return r.end(t, id)
}

// apply makes a change set and lets it run.
func (r *realRouter) apply(t *testing.T) string {
	t.Helper()
	cs := call(t, "a change set is made", r.push.Create, &pushv1.CreateRequest{Policy: "hntes-two-queue", Author: "test"}).GetChange()
	if cs.GetState() != pushv1.State_STATE_PLANNED {
		t.Fatalf("%s is %s: %v", cs.GetId(), cs.GetState(), cs.GetHistory())
	}
	call(t, "approve "+cs.GetId(), r.push.Approve, &pushv1.ApproveRequest{Id: cs.GetId(), By: "operator", Apply: true})
	return cs.GetId()
}

// verified is a change set that nothing disturbs.
func (r *realRouter) verified(t *testing.T) string {
	t.Helper()
	id := r.apply(t)
	if cs := r.end(t, id); cs.GetState() != pushv1.State_STATE_VERIFIED {
		t.Fatalf("%s, which nothing disturbed, is %s: %v", id, cs.GetState(), cs.GetHistory())
	}
	r.comesTo(t, plane.After)
	return id
}

// end waits for a change set until nothing more will happen to it by itself.
func (r *realRouter) end(t *testing.T, id string) (cs *pushv1.ChangeSet) {
	t.Helper()
	program.Until(t, id+" ends", func() (bool, any) {
		answer, err := r.push.Get(t.Context(), connect.NewRequest(&pushv1.GetRequest{Id: id}))
		if err != nil {
			return false, err
		}
		cs = answer.Msg.GetChange()
		switch cs.GetState() {
		case pushv1.State_STATE_VERIFIED, pushv1.State_STATE_ROLLED_BACK, pushv1.State_STATE_FAILED:
			return true, nil
		}
		return false, cs.GetHistory()
	})
	return cs
}

// judge holds the record against the router.
func (r *realRouter) judge(t *testing.T, cs *pushv1.ChangeSet) {
	t.Helper()
	want := plane.Said(cs, cs.GetDevices()[0])
	if want == "" {
		t.Errorf("%s says nothing of the router: %v", cs.GetId(), cs.GetHistory())
		return
	}
	r.comesTo(t, want)
}

// comesTo waits until the router holds a state, wholly.
func (r *realRouter) comesTo(t *testing.T, want plane.State) {
	t.Helper()
	program.Until(t, fmt.Sprintf("the router holds the %s state", want), func() (bool, any) {
		holds, text := r.holds(t)
		return holds == want, fmt.Sprintf("it holds the %s state:\n%s", holds, text)
	})
}

// goesOn wants a change set to be verified and rolled back; the struck one is, where it was verified.
func (r *realRouter) goesOn(t *testing.T, cs *pushv1.ChangeSet) {
	t.Helper()
	program.Until(t, "FRR knows the way to the LSP's end", func() (bool, any) {
		routes := r.run(t, "ip", "-f", "mpls", "route", "show", "16003")
		return strings.Contains(routes, "via"), routes
	})
	id := cs.GetId()
	if cs.GetState() != pushv1.State_STATE_VERIFIED {
		id = r.verified(t)
	}
	call(t, "roll back "+id, r.push.Rollback, &pushv1.RollbackRequest{Id: id, By: "operator", Note: "a test of faults"})
	if cs := r.end(t, id); cs.GetState() != pushv1.State_STATE_ROLLED_BACK {
		t.Fatalf("%s, which nothing disturbed, is %s: %v", id, cs.GetState(), cs.GetHistory())
	}
	r.comesTo(t, plane.Before)
}
