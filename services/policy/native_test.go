package policy

import (
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/junosconf"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
)

func TestARouterGetsUnitsOfItsOwnKind(t *testing.T) {
	result, err := compile.Compile(readCase(t, "hntes-redirect"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := Response(result, "", "")
	if err != nil {
		t.Fatal(err)
	}
	inv := &device.Inventory{Devices: []device.Device{{Name: "er"}, {Name: "wr", OS: device.OSJunos}}}
	if err := native(inv, result, out); err != nil {
		t.Fatal(err)
	}
	for _, p := range out.GetPlans() {
		text := p.GetUnits()[0].GetPath() == junosconf.UnitPath && strings.HasPrefix(p.GetUnits()[0].GetJson(), "groups te-managed {")
		if want := p.GetRouter() == "wr"; text != want || (want && len(p.GetUnits()) != 1) {
			t.Errorf("%s: %d units, the first is %s", p.GetRouter(), len(p.GetUnits()), p.GetUnits()[0].GetPath())
		}
	}
}

func TestWhatJunosCannotSayFailsThePlanOnlyForJunos(t *testing.T) {
	result, err := compile.Compile(readCase(t, "hntes-redirect"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range result.Plans {
		result.Plans[i].Scheduling.Partition = document.Strict
		result.Plans[i].Queues[0].Weight = 0
	}
	out, err := Response(result, "wr", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := native(&device.Inventory{Devices: []device.Device{{Name: "wr"}}}, result, out); err != nil {
		t.Errorf("a router of ours: %v", err)
	}
	err = native(&device.Inventory{Devices: []device.Device{{Name: "wr", OS: device.OSJunos}}}, result, out)
	if err == nil || !strings.Contains(err.Error(), "render the plan of wr for Junos: queues.") {
		t.Errorf("got %v, want the router and the field", err)
	}
}
