package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/device"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// ported is a circuit from VLAN 100 of ge-w1 at wr over cr to ge-e1 at er, and straight back.
func ported() *circuitsv1.Circuit {
	out := overCR("ported")
	out.Terms.Pairs, out.Number, out.FromVlan = nil, 5, 100
	out.Terms.FromPort, out.Terms.ToPort = &circuitsv1.Port{Name: "ge-w1", Vlans: "100"}, &circuitsv1.Port{Name: "ge-e1"}
	out.Back = []*circuitsv1.Hop{{Link: "10.255.0.2|10.0.12.2"}}
	return out
}

// run says for the rest of a test which operating system routers have.
func run(t *testing.T, c *Component, os map[string]device.OS) {
	t.Helper()
	for i := range c.deps.Inventory.Devices {
		d := &c.deps.Inventory.Devices[i]
		was := d.OS
		d.OS = os[d.Name]
		t.Cleanup(func() { d.OS = was })
	}
}

// A circuit between ports has its return path and the addresses of its number.
func TestACircuitBetweenPortsIsPlannedAtBothEnds(t *testing.T) {
	m := ported()
	client, _ := startWithCircuits(t, &booked{list: []*circuitsv1.Circuit{m}})
	ends := map[string]string{}
	for _, plan := range planned(t, client).GetPlans() {
		for _, a := range plan.GetAttachments() {
			ends[plan.GetRouter()] = fmt.Sprintf("%s.%d %d %s %s", a.GetPort(), a.GetVlan(), a.GetNumber(), a.GetLocal(), a.GetRemote())
		}
	}
	want := map[string]string{"wr": "ge-w1.100 5 198.18.0.10 198.18.0.11", "er": "ge-e1.0 5 198.18.0.11 198.18.0.10"}
	if d := cmp.Diff(ends, want); d != "" {
		t.Errorf("ends (-got +want):\n%s", d)
	}
	m.Number = 32768
	if got := planned(t, client).GetRefusedCircuits(); len(got) != 1 || !strings.Contains(got[0].GetReason(), "has no addresses in 198.18.0.0/16") {
		t.Errorf("a number without addresses: %v", got)
	}
}

// Both ends of a circuit are of one kind, and so are the routers between where frames are in MPLS.
func TestACircuitBetweenPortsIsAmongRoutersOfOneKind(t *testing.T) {
	const kinds = "router wr runs %s and carries frames in %s, and router er runs %s and carries them in %s; both ends have to be of one kind"
	client, c := startWithCircuits(t, &booked{list: []*circuitsv1.Circuit{ported()}})
	for _, each := range []struct {
		name, why string
		os        map[string]device.OS
	}{
		{"all on Junos", "", map[string]device.OS{"wr": "junos", "cr": "junos", "er": "junos"}},
		{"Junos between agents", "", map[string]device.OS{"cr": "junos"}},
		{"one end on Junos", fmt.Sprintf(kinds, "millrace", "VXLAN", "junos", "MPLS"), map[string]device.OS{"er": "junos"}},
		{"the other end on Junos", fmt.Sprintf(kinds, "junos", "MPLS", "millrace", "VXLAN"), map[string]device.OS{"wr": "junos", "cr": "junos"}},
		{"an agent between", "router cr of its path runs millrace, and frames in MPLS show it nothing that says their queue", map[string]device.OS{"wr": "junos", "er": "junos"}},
	} {
		t.Run(each.name, func(t *testing.T) {
			run(t, c, each.os)
			got := planned(t, client)
			why := ""
			for _, refused := range got.GetRefusedCircuits() {
				why += refused.GetReason()
			}
			if why != each.why {
				t.Errorf("refused because %q, want %q", why, each.why)
			}
			for _, plan := range got.GetPlans() {
				has := strings.Contains(fmt.Sprint(plan.GetEntries()), "te-circuit-ported")
				if wanted := each.why == "" && plan.GetRouter() != "cr"; has != wanted {
					t.Errorf("the entries of %s have it: %t, want %t", plan.GetRouter(), has, wanted)
				}
			}
		})
	}
}

func TestARouterAtWhichNoCircuitEndsIsNamed(t *testing.T) {
	client, c := startWithCircuits(t, &booked{list: []*circuitsv1.Circuit{ported()}})
	was := c.deps.Renderers
	c.deps.Renderers = Renderers{device.OSMillrace: was[device.OSMillrace], device.OSJunos: was[device.OSJunos]}
	none := was[device.OSJunos]
	none.Frames = "none"
	c.deps.Renderers[device.OSJunos] = none
	run(t, c, map[string]device.OS{"er": "junos"})
	got := planned(t, client).GetRefusedCircuits()
	if want := "router er runs junos, at which circuits between ports cannot end in this version"; len(got) != 1 || got[0].GetReason() != want {
		t.Errorf("refused %v, want because %q", got, want)
	}
}
