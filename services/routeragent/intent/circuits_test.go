package intent

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/services/routeragent/kernel"
)

const circuit = `{"name":"te-c1","config":{"name":"te-c1","type":"openconfig-network-instance-types:L2P2P"},"connection-points":{"connection-point":[` +
	`{"connection-point-id":"local","config":{"connection-point-id":"local"},"endpoints":{"endpoint":[` +
	`{"endpoint-id":"l","config":{"endpoint-id":"l","type":"openconfig-network-instance-types:LOCAL"},"local":{"config":{"interface":"ge-a","te-circuit-ext:vlan-id":100}}}]}},` +
	`{"connection-point-id":"remote","config":{"connection-point-id":"remote"},"endpoints":{"endpoint":[` +
	`{"endpoint-id":"r","config":{"endpoint-id":"r","type":"openconfig-network-instance-types:REMOTE"},"remote":{"config":{` +
	`"remote-system":"198.18.0.3","virtual-circuit-identifier":7,"te-circuit-ext:local-system":"198.18.0.2",` +
	`"te-circuit-ext:qos-forwarding-group":"te-alpha","te-circuit-ext:path-selection-group":"te-7"}}}]}}]}}`

// beside puts network instances beside DEFAULT.
func beside(instances ...string) []string {
	return []string{`"network-instance":[`, `"network-instance":[` + strings.Join(instances, ",") + ","}
}

func TestAnL2P2PInstanceIsACircuit(t *testing.T) {
	got, err := Compile(config(t, beside(circuit)...), hardware, IDs{})
	if err != nil {
		t.Fatal(err)
	}
	want := []kernel.Circuit{{
		Name: "te-c1", Port: "ge-a", VLAN: 100, VNI: 7, Local: netip.MustParseAddr("198.18.0.2"), Remote: netip.MustParseAddr("198.18.0.3"),
		Mark: kernel.Mark(got.IDs.Classes["te-alpha"], got.IDs.Paths["te-lsp-7"]), Entered: got.IDs.Counters["te-c1 in"], Left: got.IDs.Counters["te-c1 out"],
	}}
	if diff := cmp.Diff(got.Kernel.Circuits, want, comparers); diff != "" {
		t.Errorf("circuits (-got +want):\n%s", diff)
	}
	if want := (CircuitAt{"te-c1", "local", "l", want[0].Entered, want[0].Left}); len(got.Circuits) != 1 || got.Circuits[0] != want {
		t.Errorf("its end is %+v, not %+v", got.Circuits, want)
	}
	if got.Kernel.Circuits[0].Entered == got.Kernel.Circuits[0].Left || got.Kernel.Circuits[0].Mark == 0 {
		t.Errorf("%+v", got.Kernel.Circuits[0])
	}
	// What stays keeps its counters, whatever comes before it.
	other := strings.NewReplacer("te-c1", "te-c0", `,"te-circuit-ext:vlan-id":100`, ``, `:7,`, `:8,`, "198.18.0.2", "198.18.0.4").Replace(circuit)
	again, err := Compile(config(t, beside(other, circuit)...), hardware, got.IDs)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(again.Kernel.Circuits[1], want[0], comparers); diff != "" || again.Kernel.Circuits[0].VLAN != 0 {
		t.Errorf("beside another one (-got +want):\n%s", diff)
	}
}

const vlan100 = `,"te-circuit-ext:vlan-id":100`

// TestPortsOfACircuit: one that the router itself needs is shared by VLAN only.
func TestPortsOfACircuit(t *testing.T) {
	for port, untagged := range map[string]bool{"ge-a": true, "ge-free": true, "ge-core": false} {
		at := strings.ReplaceAll(circuit, "ge-a", port)
		if _, err := Compile(config(t, beside(at)...), hardware, IDs{}); err != nil {
			t.Errorf("VLAN 100 of %s: %v", port, err)
		}
		if _, err := Compile(config(t, beside(strings.Replace(at, vlan100, "", 1))...), hardware, IDs{}); (err == nil) != untagged {
			t.Errorf("all without a tag of %s: %v", port, err)
		}
	}
}

func TestACircuitThatCannotBeIsRefused(t *testing.T) {
	second := func(replace ...string) string {
		return strings.NewReplacer(append([]string{"te-c1", "te-c2"}, replace...)...).Replace(circuit)
	}
	for what, instances := range map[string][]string{
		"port and VLAN are those":  {circuit, second(`:7,`, `:8,`, "198.18.0.2", "198.18.0.4")},
		"circuit-identifier are":   {circuit, second(`:100`, `:101`, "198.18.0.2", "198.18.0.4")},
		"local-system are those":   {circuit, second(`:100`, `:101`, `:7,`, `:8,`)},
		"is not a port":            {second("ge-a", kernel.Overlay)},
		"lo is a loopback":         {second("ge-a", "lo")},
		"needs a vlan-id":          {second("ge-a", "ge-core", vlan100, "")},
		"it has just gone":         {second("ge-a", "ge-gone", vlan100, "")},
		"is 0; 1 to 16777215":      {second(`:7,`, `:0,`)},
		"an IPv4 address":          {second("198.18.0.3", "2001:db8::3")},
		"is the local-system":      {second("198.18.0.3", "198.18.0.2")},
		"has no output-queue":      {second(`"te-alpha"`, `"te-gone"`)},
		"no path-selection-group":  {second(`group":"te-7"`, `group":"te-gone"`)},
		"only L2P2P":               {second("L2P2P", "L2VSI")},
		"instances named te-":      {strings.ReplaceAll(circuit, "te-c1", "mine")},
		"2 local and 0 remote":     {second("REMOTE", "LOCAL", `"remote":{"config":{"remote-system":"198.18.0.3","virtual-circuit-identifier":7,"te-circuit-ext:local-system":"198.18.0.2","te-circuit-ext:qos-forwarding-group":"te-alpha","te-circuit-ext:path-selection-group":"te-7"}}`, `"local":{"config":{"interface":"ge-b"}}`)},
		"is neither LOCAL nor REM": {second(`,"type":"openconfig-network-instance-types:LOCAL"`, "")},
	} {
		if _, err := Compile(config(t, beside(instances...)...), hardware, IDs{}); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
