package routeragent_test

import (
	"strings"
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
)

// frames is a network instance of type L2P2P: VLAN 100 of ge-a.
const frames = `{"openconfig-network-instance:network-instances":{"network-instance":[
 {"name":"te-c1","config":{"name":"te-c1","type":"openconfig-network-instance-types:L2P2P"},"connection-points":{"connection-point":[
  {"connection-point-id":"local","config":{"connection-point-id":"local"},"endpoints":{"endpoint":[{"endpoint-id":"l",
   "config":{"endpoint-id":"l","type":"openconfig-network-instance-types:LOCAL"},"local":{"config":{"interface":"ge-a","te-circuit-ext:vlan-id":100}}}]}},
  {"connection-point-id":"remote","config":{"connection-point-id":"remote"},"endpoints":{"endpoint":[{"endpoint-id":"r",
   "config":{"endpoint-id":"r","type":"openconfig-network-instance-types:REMOTE"},
   "remote":{"config":{"remote-system":"10.0.2.2","virtual-circuit-identifier":7,"te-circuit-ext:local-system":"198.18.0.2"}}}]}}]}}]}}`

// A circuit that would take what the router itself hears from its neighbours is refused, and nothing of it is done.
func TestACircuitDoesNotCutTheRouterOff(t *testing.T) {
	x := newTarget(t)
	before := x.router.Dump() + x.router.In("ip", "-br", "link")
	for port, why := range map[string]string{"lo": "is a loopback", "ge-a": "10.0.1.1/24"} {
		untagged := strings.NewReplacer(`,"te-circuit-ext:vlan-id":100`, "", `"interface":"ge-a"`, `"interface":"`+port+`"`).Replace(frames)
		err := x.set(x.request("update / " + untagged))
		wantCode(t, err, codes.InvalidArgument)
		if err != nil && !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", port, err)
		}
	}
	if after := x.router.Dump() + x.router.In("ip", "-br", "link"); after != before {
		t.Errorf("it left something:\n%s\nbefore:\n%s", after, before)
	}
	x.router.In("ip", "addr", "flush", "dev", "ge-a")
	x.must(t, "update / "+strings.Replace(frames, `,"te-circuit-ext:vlan-id":100`, "", 1))
}

const endpointState = "/network-instances/network-instance[name=te-c1]/connection-points/connection-point[connection-point-id=local]/endpoints/endpoint[endpoint-id=l]/state"

// A circuit over gNMI: it carries, counts, outlasts the agent, stays where a Set is refused, and leaves nothing.
func TestACircuitIsSetReadAndRemoved(t *testing.T) {
	x := newTarget(t)
	before := x.router.Dump() + x.router.In("ip", "-br", "link")
	x.must(t, "update / "+frames)
	send := `import socket
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(("ge-a", 0))
for _ in range(5):
    s.send(bytes.fromhex("ffffffffffff0200000000018100006488b5") + b"x" * 200)
`
	x.router.Run("ip", "netns", "exec", x.router.Peer, "python3", "-c", send)
	if got := x.counter(t, endpointState+"/in-pkts"); got != 5 {
		t.Errorf("%d frames went into the circuit, not 5", got)
	}
	if got := x.counter(t, endpointState+"/in-octets"); got != 5*214 {
		t.Errorf("%d octets went into the circuit, not %d", got, 5*214)
	}
	// Another way to the other end, or other names of its ends, is the same circuit: it counts on.
	renamed := strings.ReplaceAll(frames, `"endpoint-id":"l"`, `"endpoint-id":"from"`)
	x.must(t, "delete /network-instances/network-instance[name=te-c1]", "update / "+strings.Replace(renamed, "10.0.2.2", "10.0.2.3", 1))
	if got := x.counter(t, strings.Replace(endpointState, "endpoint-id=l]", "endpoint-id=from]", 1)+"/in-pkts"); got != 5 {
		t.Errorf("under another name of its end it has counted %d frames, not 5", got)
	}
	x.must(t, "delete /network-instances/network-instance[name=te-c1]", "update / "+frames)
	// A Set of which another part is refused changes nothing of it.
	wantCode(t, x.set(x.request("delete /network-instances/network-instance[name=te-c1]", `update / {"openconfig-qos:qos":{"interfaces":{"interface":[{"interface-id":"ge-z","config":{"interface-id":"ge-z"},"output":{"scheduler-policy":{"config":{"name":"te-none"}}}}]}}}`)), codes.InvalidArgument)
	if got, err := x.get(gnmi.GetRequest_STATE, endpointState); err != nil || !strings.Contains(got, `active":true`) {
		t.Errorf("after a Set that was refused: %s, %v", got, err)
	}
	x.stop()
	x.router.Run("ip", "netns", "exec", x.router.Peer, "python3", "-c", send)
	x.start()
	if got := x.counter(t, endpointState+"/in-pkts"); got != 10 {
		t.Errorf("beside an agent that was away %d frames were carried, not 10", got)
	}
	x.must(t, "delete /network-instances/network-instance[name=te-c1]")
	if after := x.router.Dump() + x.router.In("ip", "-br", "link"); after != before {
		t.Errorf("it left something:\n%s\nbefore:\n%s", after, before)
	}
}
