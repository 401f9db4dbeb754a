package routeragent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"

	"github.com/millrace/millrace/internal/testkit/await"
)

// weighted is a rule on a group of two LSPs, which share flows by the weights.
func weighted(first, second int) string {
	var paths, tunnels []string
	for _, name := range []string{"te-a", "te-b"} {
		paths = append(paths, fmt.Sprintf(`{"name":%[1]q,"config":{"name":%[1]q},"explicit-route-objects":{"explicit-route-object":[{"index":1,"config":{"index":1,"address":"10.0.2.2","hop-type":"LOOSE"}}]}}`, name))
		tunnels = append(tunnels, fmt.Sprintf(`{"name":%[1]q,"config":{"name":%[1]q,"type":"openconfig-mpls-types:P2P","signaling-protocol":"openconfig-mpls-types:PATH_SETUP_SR"},
   "p2p-tunnel-attributes":{"config":{"destination":"10.0.2.2"},"p2p-primary-path":{"p2p-primary-path":[{"name":%[1]q,"config":{"name":%[1]q,"path-computation-method":"openconfig-mpls-types:EXPLICITLY_DEFINED","explicit-path-name":%[1]q}}]}}}`, name))
	}
	return fmt.Sprintf(`{"openconfig-network-instance:network-instances":{"network-instance":[{"name":"DEFAULT","config":{"name":"DEFAULT"},
 "mpls":{"lsps":{"constrained-path":{"named-explicit-paths":{"named-explicit-path":[%s]},"tunnels":{"tunnel":[%s]}}}},
 "policy-forwarding":{
  "path-selection-groups":{"path-selection-group":[{"group-id":"te-set","config":{"group-id":"te-set","mpls-lsp":["te-a","te-b"]},
   "te-lsp-ext:lsps":{"lsp":[{"name":"te-a","config":{"name":"te-a","weight":%d}},{"name":"te-b","config":{"name":"te-b","weight":%d}}]}}]},
  "policies":{"policy":[{"policy-id":"te-in","config":{"policy-id":"te-in","type":"MATCH_ACTION_POLICY"},"rules":{"rule":[
   {"sequence-id":1,"config":{"sequence-id":1},"ipv4":{"config":{"destination-address":"198.51.100.0/24"}},"action":{"config":{"path-selection-group":"te-set"}}}]}}]},
  "interfaces":{"interface":[{"interface-id":"ge-a","config":{"interface-id":"ge-a","apply-forwarding-policy":"te-in"},"interface-ref":{"config":{"interface":"ge-a"}}}]}}}]}}`,
		strings.Join(paths, ","), strings.Join(tunnels, ","), first, second)
}

const setState = "/network-instances/network-instance[name=DEFAULT]/policy-forwarding/path-selection-groups/path-selection-group[group-id=te-set]/lsps/"

func (x *target) buckets(t *testing.T) [2]uint64 {
	t.Helper()
	return [2]uint64{x.counter(t, setState+"lsp[name=te-a]/state/buckets"), x.counter(t, setState+"lsp[name=te-b]/state/buckets")}
}

// A set of LSPs over gNMI: its shares are read from the kernel, each LSP counts what it carries, a commit that is not
// confirmed goes back, an agent that starts changes nothing, and nothing is left.
func TestASetOfLSPsIsSetReadRolledBackAndRemoved(t *testing.T) {
	x := newTarget(t)
	x.must(t, "update / "+weighted(1, 3))
	if got := x.buckets(t); got != [2]uint64{64, 192} {
		t.Errorf("1 to 3 of 256 buckets are %v", got)
	}
	receive := x.sink(t)
	const sent = 50
	x.send(t, sent, 100)
	receive(sent)
	carried := func() (out [2]uint64) {
		for i, lsp := range []string{"te-a", "te-b"} {
			out[i] = x.counter(t, setState+"lsp[name="+lsp+"]/state/out-pkts")
		}
		return out
	}
	if got := carried(); got != [2]uint64{sent, 0} && got != [2]uint64{0, sent} {
		t.Errorf("the %d packets of one flow were counted as %v", sent, got)
	}
	if err := x.set(commit(x.request("update / "+weighted(3, 1)), trial("c1", nil))); err != nil {
		t.Fatal(err)
	}
	if got := x.buckets(t); got != [2]uint64{192, 64} {
		t.Errorf("while the commit waits, 3 to 1 are %v", got)
	}
	wantCode(t, x.set(commit(&gnmi.SetRequest{}, cancel("c1"))), codes.OK)
	await.True(t, "the weights are those of before", func() bool { return x.buckets(t) == [2]uint64{64, 192} })
	counted := carried()
	x.stop()
	x.start()
	if got := carried(); got != counted || x.buckets(t) != [2]uint64{64, 192} {
		t.Errorf("after a restart %v packets and %v buckets; before it %v and 64, 192", got, x.buckets(t), counted)
	}
	bad := strings.Replace(weighted(1, 1), `"lsp":[{"name":"te-a","config":{"name":"te-a"`, `"lsp":[{"name":"te-z","config":{"name":"te-z"`, 1)
	wantCode(t, x.set(x.request("replace / "+bad)), codes.InvalidArgument)
	wantCode(t, x.set(x.request("update / "+weighted(1, 0))), codes.InvalidArgument)
	x.must(t, "delete /network-instances/network-instance[name=DEFAULT]/policy-forwarding", "delete /network-instances/network-instance[name=DEFAULT]/mpls")
	if left := x.router.In("ip", "rule"); strings.Contains(left, "fwmark") {
		t.Errorf("rules are left: %s", left)
	}
}
