package junos_test

import (
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/junosconf"
	"github.com/millrace/millrace/services/push/driver"
	"github.com/millrace/millrace/services/push/driver/junos/junostest"
)

// withCircuits is what two circuits between ports make of a router: VLAN 100 of ge-w1, and all of ge-wa.
func withCircuits(t *testing.T) string {
	t.Helper()
	return goldenOf(t, "circuits-between-ports")
}

// Circuits leave nothing behind, whichever way the group can be read back.
func TestCircuitsBetweenPortsComeAndGo(t *testing.T) {
	for name, quirks := range map[string][]junostest.Quirk{"Get works": nil, "Get fails": {junostest.GetFails}} {
		t.Run(name, func(t *testing.T) {
			r, d := start(t, quirks...)
			both := withCircuits(t)
			one, err := junosconf.Parse(both)
			if err != nil {
				t.Fatal(err)
			}
			for _, gone := range []string{
				"interfaces ge-wa", "protocols l2circuit neighbor 10.255.0.2 interface ge-wa.0",
				"protocols mpls label-switched-path te-circuit-l2-untagged-1c6c1e", "protocols mpls path te-circuit-l2-untagged-1c6c1e",
			} {
				if !one.Delete(append([]string{"groups", junosconf.Group}, strings.Fields(gone)...)...) {
					t.Fatalf("there is no %s", gone)
				}
			}
			become(t, r, d, both, one.Text(), both, "")
			if got := r.Config(); got != "" {
				t.Errorf("the router still holds\n%s", got)
			}
		})
	}
}

// What an operator has at a circuit's port or unit is named when the change is planned; the rest of the port is his.
func TestWhatAnOperatorHasAtACircuitsPortIsAConflict(t *testing.T) {
	for _, c := range []struct{ name, place, text, want string }{
		{"nothing", "interfaces", "", ""},
		{"the port as circuits need it, and another VLAN", "interfaces",
			"ge-w1 { description customers; mtu 9192; flexible-vlan-tagging; encapsulation flexible-ethernet-services; unit 7 { vlan-id 7; family inet address 10.0.0.1/24; } }", ""},
		{"another port", "interfaces", "ge-w2 { unit 100 { vlan-id 100; } }", ""},
		{"the unit", "interfaces", "ge-w1 { unit 100 { description mine; } }", "unit 100 on ge-w1"},
		{"the unit, switched off", "interfaces", "ge-w1 { inactive: unit 100 { description mine; } }", ""},
		{"its VLAN", "interfaces", "ge-w1 { unit 7 { vlan-id 100; } }", "VLAN 100 of unit 7 on ge-w1"},
		{"its VLAN, the last of a range", "interfaces", "ge-w1 { unit 7 { vlan-id-range 90-100; } }", "VLAN 100 of unit 7 on ge-w1"},
		{"its VLAN, the first of a range", "interfaces", "ge-w1 { unit 7 { vlan-id-list [ 5 100-110 ]; } }", "VLAN 100 of unit 7 on ge-w1"},
		{"other VLANs", "interfaces", "ge-w1 { unit 7 { vlan-id-list [ 5 10-99 101-200 ]; } }", ""},
		{"its VLAN before a second tag", "interfaces", "ge-w1 { unit 7 { vlan-tags outer 0x8100.100 inner 5; } }", "VLAN 100 of unit 7 on ge-w1"},
		{"its VLAN behind another tag", "interfaces", "ge-w1 { unit 7 { vlan-tags outer 5 inner 100; } }", ""},
		{"a unit without a VLAN", "interfaces", "ge-w1 { unit 0 { family inet address 10.0.0.1/24; } }", "unit 0 without a VLAN on ge-w1"},
		{"single tags", "interfaces", "ge-w1 { vlan-tagging; }", "vlan-tagging on ge-w1"},
		{"double tags", "interfaces", "ge-w1 { stacked-vlan-tagging; }", "stacked-vlan-tagging on ge-w1"},
		{"another encapsulation", "interfaces", "ge-w1 { encapsulation vlan-ccc; }", "encapsulation vlan-ccc on ge-w1"},
		{"a whole port as its circuit needs it", "interfaces", "ge-wa { mtu 9192; encapsulation ethernet-ccc; }", ""},
		{"a unit of a whole port", "interfaces", "ge-wa { unit 3 { vlan-id 3; } }", "unit 3 on ge-wa"},
		{"tags at a whole port", "interfaces", "ge-wa { flexible-vlan-tagging; }", "flexible-vlan-tagging on ge-wa"},
		{"another encapsulation of a whole port", "interfaces", "ge-wa { encapsulation ethernet-bridge; }", "encapsulation ethernet-bridge on ge-wa"},
		{"a circuit at the unit", "protocols l2circuit", "neighbor 10.9.9.9 { interface ge-w1.100 { virtual-circuit-id 7; } }", "l2circuit to 10.9.9.9 on ge-w1.100"},
		{"its number to the same router", "protocols l2circuit", "neighbor 10.255.0.2 { interface ge-w3.5 { virtual-circuit-id 1; } }", "virtual-circuit-id 1 to 10.255.0.2 on ge-w3.5"},
		{"its number to another router", "protocols l2circuit", "neighbor 10.9.9.9 { interface ge-w3.5 { virtual-circuit-id 1; } }", ""},
		{"its label", "protocols l2circuit", "neighbor 10.9.9.9 { interface ge-w3.5 { static { incoming-label 1000001; outgoing-label 99; } } }", "incoming-label 1000001 on ge-w3.5"},
		{"its label towards another router", "protocols l2circuit", "neighbor 10.9.9.9 { interface ge-w3.5 { static { incoming-label 1000009; outgoing-label 1000001; } } }", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, d := start(t)
			r.Own(c.place, c.text+"\n")
			found, err := d.Conflicts(t.Context(), driver.Snapshot{}, map[string]string{junosconf.EntryPath: withCircuits(t)})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, each := range found {
				got += each.With
			}
			if got != c.want {
				t.Errorf("conflicts %q, want %q", got, c.want)
			}
		})
	}
}
