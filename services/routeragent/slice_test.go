package routeragent_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/gnmi/proto/gnmi"
)

func TestHNTESConfigurationReachesTheKernelAndLeavesNoTrace(t *testing.T) {
	x := newTarget(t)
	before := x.router.Dump()
	if err := x.set(x.request("update / " + hntes("95"))); err != nil {
		t.Fatal(err)
	}
	dump := x.router.Dump()
	for _, want := range []string{
		"qdisc htb 7e00: dev ge-b root", "rate 95Mbit ceil 100Mbit", "prio 0", "limit 1187500b", "limit 62500b",
		"fwmark 0x10000/0x3ff0000 lookup 20001", "millrace-te-", "default via 10.0.2.2 dev ge-b table 20001",
	} {
		if !strings.Contains(dump, want) {
			t.Errorf("kernel lacks %q:\n%s", want, dump)
		}
	}
	for _, path := range []string{"/qos/interfaces/interface[interface-id=ge-b]/output/queues", "/network-instances/network-instance[name=DEFAULT]/policy-forwarding/policies",
		"/network-instances/network-instance[name=DEFAULT]/mpls", "/interfaces/interface[name=ge-b]"} {
		got, err := x.get(gnmi.GetRequest_STATE, path)
		if err != nil || got == "" {
			t.Errorf("state at %s: %q, %v", path, got, err)
		}
	}
	if err := x.set(x.request("delete /")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, x.router.Dump()); diff != "" {
		t.Errorf("kernel after removal (-before +after):\n%s", diff)
	}
}
