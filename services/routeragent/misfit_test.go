package routeragent_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/millrace/millrace/internal/testkit/await"
)

const withoutB = "delete /qos/interfaces/interface[interface-id=ge-b]"

// hide takes the port ge-b away, show brings it back.
func (x *target) hide() {
	x.router.In("ip", "link", "set", "ge-b", "down")
	x.router.In("ip", "link", "set", "ge-b", "name", "ge-x")
}

func (x *target) show() {
	x.router.In("ip", "link", "set", "ge-x", "name", "ge-b")
	x.router.In("ip", "link", "set", "ge-b", "up")
}

// After a start without one port a Set that fails returns to what the ports have that are there.
func TestAFailedSetAfterAStartWithoutAPortLeavesTheOthersAlone(t *testing.T) {
	x := newTarget(t)
	wantCode(t, x.set(x.noLSP(hntes("95"))), codes.OK)
	x.stop()
	x.hide()
	x.start()
	const port = `update /qos/interfaces/interface[interface-id=ge-a] {"config":{"interface-id":"ge-a"},"interface-ref":{"config":{"interface":"ge-a"}},"output":{"scheduler-policy":{"config":{"name":"te-2q"}}}}`
	steps := x.failEachStep(t, x.request(withoutB, port), func(step string) {
		if n := len(x.programs("ge-a", "ingress")); n != 1 {
			t.Errorf("after failure of %q the classifier is gone from ge-a", step)
		}
	})
	if steps == 0 {
		t.Error("no step could fail")
	}
}

// A configuration that does not fit the router any more is returned to all the same, and what is missing of it is drift
// until it fits.
func TestARollbackToAConfigurationThatDoesNotFitAnyMore(t *testing.T) {
	const agent = "/network-instances/network-instance[name=DEFAULT]/agent/state"
	x := newTargetBy(t, &clock{})
	x.must(t, "update / "+hntes("95"))
	config := x.config("/")
	if err := x.set(commit(x.request(withoutB), trial("c1", durationpb.New(time.Minute)))); err != nil {
		t.Fatal(err)
	}
	x.hide()
	x.clock.pass(time.Minute)
	if diff := cmp.Diff(config, x.config("/")); diff != "" {
		t.Errorf("configuration (-before the commit +after its time):\n%s", diff)
	}
	wantCode(t, x.set(commit(&gnmi.SetRequest{}, confirm("c1"))), codes.FailedPrecondition)
	if got, err := x.get(gnmi.GetRequest_STATE, agent+"/in-sync"); err != nil || got != "false" {
		t.Errorf("in-sync is %s, %v", got, err)
	}
	x.show()
	x.lsps.forget()
	await.True(t, "the router has the configuration again", func() bool {
		got, err := x.get(gnmi.GetRequest_STATE, agent+"/in-sync")
		return err == nil && got == "true"
	})
}

// A rollback that fails while the agent stops sets no timer that would work on a closed kernel.
func TestNothingIsTimedAfterTheStop(t *testing.T) {
	x := newTargetBy(t, &clock{})
	x.must(t, "update / "+hntes("80"))
	if err := x.set(commit(x.request("update / "+hntes("95")), trial("c1", durationpb.New(time.Minute)))); err != nil {
		t.Fatal(err)
	}
	x.agent.InjectFault(func(string) error {
		x.agent.StopStore()
		return errInjected
	})
	x.clock.pass(time.Minute)
	x.agent.InjectFault(nil)
	if n := x.clock.waiting(); n != 0 {
		t.Errorf("%d things are timed after the stop", n)
	}
}
