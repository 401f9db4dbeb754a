package routeragent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"
)

// pairs is a policy of n rules with one prefix pair each.
func pairs(n int) string {
	var src, rules []string
	for i := range n {
		src = append(src, fmt.Sprintf(`{"name":"te-s%d","config":{"name":"te-s%d","prefix":["10.%d.%d.0/24"]}}`, i, i, i>>8, i&255))
		rules = append(rules, fmt.Sprintf(`{"sequence-id":%d,"config":{"sequence-id":%d},"ipv4":{"config":{"source-address-prefix-set":"te-s%d","destination-address":"198.51.100.0/24"}},
			"action":{"forwarding":{"config":{"forwarding-action":"openconfig-policy-forwarding:FORWARD","qos-forwarding-group":"te-alpha"}}}}`, i+1, i+1, i))
	}
	return `{"openconfig-defined-sets:defined-sets":{"ipv4-prefix-sets":{"ipv4-prefix-set":[` + strings.Join(src, ",") + `]}},
	"openconfig-network-instance:network-instances":{"network-instance":[{"name":"DEFAULT","config":{"name":"DEFAULT"},"policy-forwarding":{"policies":{"policy":[
	{"policy-id":"te-in","rules":{"rule":[` + strings.Join(rules, ",") + `]}}]}}}]}}`
}

func TestCheck48FiveThousandRules(t *testing.T) {
	x := newTarget(t)
	if err := x.set(x.request("update / " + hntes("95"))); err != nil {
		t.Fatal(err)
	}
	const n = 5000
	if err := x.set(x.request("delete /network-instances/network-instance[name=DEFAULT]/policy-forwarding/policies/policy[policy-id=te-in]/rules", "update / "+pairs(n))); err != nil {
		t.Fatal(err)
	}
	got, err := x.get(gnmi.GetRequest_STATE, "/network-instances/network-instance[name=DEFAULT]/policy-forwarding/policies/policy[policy-id=te-in]/rules/rule/state/matched-pkts")
	if err != nil || strings.Count(got, `"0"`) != n {
		t.Errorf("%d rule counters (%v), want %d", strings.Count(got, `"0"`), err, n)
	}
}
