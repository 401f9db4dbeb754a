package routeragent_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/gnmi/proto/gnmi"

	"github.com/millrace/millrace/internal/testkit/await"
)

func TestWhatSomebodyElseRemovedComesBackWithALinkEvent(t *testing.T) {
	x := newTarget(t)
	if err := x.set(x.request("update / " + hntes("95"))); err != nil {
		t.Fatal(err)
	}
	held := x.router.Dump()
	x.router.In("ip", "rule", "del", "pref", "20001")
	x.router.In("tc", "filter", "del", "dev", "ge-a", "ingress")
	// Any change of a link makes the agent look.
	x.router.In("ip", "link", "set", "ge-b", "mtu", "1400")
	await.True(t, "the agent repairs it", func() bool { return x.router.Dump() == held })
}

func TestARouterWhoseInterfaceIsMissingAtStartIsServedAndRepairedLater(t *testing.T) {
	x := newTarget(t)
	if err := x.set(x.request("update / " + hntes("95"))); err != nil {
		t.Fatal(err)
	}
	config := x.config("/")
	x.stop()
	x.router.In("ip", "link", "set", "ge-b", "down")
	x.router.In("ip", "link", "set", "ge-b", "name", "ge-x")
	x.start()
	if diff := cmp.Diff(config, x.config("/")); diff != "" {
		t.Errorf("configuration (-before +after):\n%s", diff)
	}
	if got, err := x.get(gnmi.GetRequest_STATE, "/interfaces/interface[name=ge-x]/state/oper-status"); err != nil || got != `"DOWN"` {
		t.Errorf("state is not served: %s, %v", got, err)
	}
}

func TestDriftAndWaitingCommitsAreState(t *testing.T) {
	const agent = "/network-instances/network-instance[name=DEFAULT]/agent/state"
	x := loaded(t)
	s := x.subscribe(t, list(stream, x.on(t, gnmi.SubscriptionMode_ON_CHANGE, agent)))
	if got := s.untilSync(); got[agent+"/in-sync"] != "bool_val:true" || got[agent+"/drift"] != "" {
		t.Errorf("state of an agent in order: %v", got)
	}
	if err := x.set(commit(x.request("update /qos/queues/queue[name=te-x]/config/queue-id 9"), trial("c9", nil))); err != nil {
		t.Fatal(err)
	}
	if got := s.change(); got[agent+"/pending-commit"] != `string_val:"c9"` {
		t.Errorf("change %v, want the commit that waits", got)
	}
	if err := x.set(commit(&gnmi.SetRequest{}, confirm("c9"))); err != nil {
		t.Fatal(err)
	}
	if got := s.change(); got[agent+"/pending-commit"] != "deleted" {
		t.Errorf("change %v, want no commit waiting", got)
	}
	// A port that is gone cannot be repaired: that is drift, and it stays until the port is back.
	x.router.In("ip", "link", "set", "ge-b", "down")
	x.router.In("ip", "link", "set", "ge-b", "name", "ge-x")
	await.True(t, "drift is sent", func() bool { return s.change()[agent+"/in-sync"] == "bool_val:false" })
	if got, err := x.get(gnmi.GetRequest_STATE, agent+"/drift"); err != nil || got == "" {
		t.Errorf("drift is not shown: %s, %v", got, err)
	}
	x.router.In("ip", "link", "set", "ge-x", "name", "ge-b")
	x.router.In("ip", "link", "set", "ge-b", "up")
	x.lsps.forget() // the route went with the port
	await.True(t, "the end of drift is sent", func() bool { return s.change()[agent+"/in-sync"] == "bool_val:true" })
}

// What the router lacks may be lacking for ever, and is looked at again and again.
func TestTheSameDriftIsLoggedOnce(t *testing.T) {
	x := newTarget(t)
	x.must(t, "update / "+hntes("95"))
	x.stop()
	x.hide()
	x.start()
	for range 3 {
		x.agent.Reconcile(t.Context())
	}
	if got := x.log.lines("router differs"); len(got) != 1 || !strings.Contains(got[0], "ge-b") {
		t.Errorf("logged of one drift: %q", got)
	}
	x.show()
	x.lsps.forget()
	await.True(t, "the router has its configuration again", func() bool {
		x.agent.Reconcile(t.Context())
		return len(x.log.lines("router has its configuration again")) == 1
	})
}
