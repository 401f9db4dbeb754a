package routeragent_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/gnmi/proto/gnmi"
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
	eventually(t, "the agent repairs it", func() bool { return x.router.Dump() == held })
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
