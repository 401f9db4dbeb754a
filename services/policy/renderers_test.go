package policy

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/junosconf"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
	"github.com/millrace/millrace/services/policy/policytest"
	"github.com/millrace/millrace/services/policy/render/junos"
	"github.com/millrace/millrace/services/policy/render/openconfig"
)

// both are the renderers of this package's tests; production takes them from the vendors' table of cmd/millrace.
var both = Renderers{
	device.OSMillrace: {Syntax: "openconfig", Encoding: configentry.JSONIETF, Entries: openconfig.Entries, Text: openconfig.Text, Frames: compile.FramesVXLAN},
	device.OSJunos:    {Syntax: "junos", Encoding: configentry.JunosText, Entries: junos.Entries, Text: junos.Text, Frames: compile.FramesMPLS},
}

// Without these rows a vendor has no golden text, and nobody sees that its renderer leaves out a field of the plan.
func TestEveryOperatingSystemIsRenderedHere(t *testing.T) {
	for _, os := range device.OSes {
		r, has := both[os]
		if !has {
			t.Errorf("%s has no row in both", os)
			continue
		}
		if folder := "services/policy/render/" + r.Syntax; renderings[folder] == nil {
			t.Errorf("%s has no row in renderings", folder)
		}
		suffix := "." + r.Syntax
		if r.Syntax == "openconfig" {
			suffix = ".entries" // as they are sent; people read the plan
		}
		for _, name := range policytest.Names(t) {
			if golden, err := filepath.Glob(policytest.Path(t, name, "*"+suffix)); err != nil || len(golden) == 0 {
				t.Errorf("%s: policies/golden/%s has no *%s: %v", os, name, suffix, err)
			}
		}
	}
}

func TestEachRouterIsRenderedForItsOperatingSystem(t *testing.T) {
	result, err := compile.Compile(policytest.Read(t, "hntes-redirect"))
	if err != nil {
		t.Fatal(err)
	}
	inv := &device.Inventory{Devices: []device.Device{{Name: "er"}, {Name: "wr", OS: device.OSJunos}}}
	out, err := both.Response(result, Request{Inventory: inv})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, p := range out.GetPlans() {
		first := p.GetEntries()[0]
		body, _, _ := strings.Cut(first.GetBody(), "\n")
		got[p.GetRouter()] = first.GetEncoding().String() + " " + first.GetPath() + " " + body
		if one := len(p.GetEntries()) == 1; one != (p.GetRouter() == "wr") {
			t.Errorf("%s has %d entries", p.GetRouter(), len(p.GetEntries()))
		}
	}
	queue := "ENCODING_JSON_IETF " + configentry.Queue.Path("te-beta") + " {"
	want := map[string]string{"cr": queue, "er": queue, "wr": "ENCODING_JUNOS_TEXT " + junosconf.EntryPath + " groups te-managed {"}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("first entries (-got +want):\n%s", diff)
	}
}

func TestWhatJunosLacksFailsThePlanOnlyForJunos(t *testing.T) {
	result, err := compile.Compile(policytest.Read(t, "hntes-redirect"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range result.Plans {
		result.Plans[i].Scheduling.Partition = document.Strict
		result.Plans[i].Queues[0].Weight = 0
	}
	if _, err := both.Response(result, Request{Router: "wr", Inventory: &device.Inventory{Devices: []device.Device{{Name: "wr"}}}}); err != nil {
		t.Errorf("an OpenConfig target: %v", err)
	}
	_, err = both.Response(result, Request{Router: "wr", Inventory: &device.Inventory{Devices: []device.Device{{Name: "wr", OS: device.OSJunos}}}})
	if err == nil || !strings.Contains(err.Error(), "render the plan of wr for Junos: queues.") {
		t.Errorf("got %v, want the router and the field", err)
	}
}

func TestAnInventoryWithAnUnknownOperatingSystemIsRefused(t *testing.T) {
	inv := &device.Inventory{Devices: []device.Device{{Name: "wr", OS: "eos"}}}
	_, err := New(DefaultConfiguration(), Dependencies{Inventory: inv, Renderers: both})
	if err == nil || err.Error() != "policy: wr runs eos, for which there is no renderer; there are [junos millrace]" {
		t.Errorf("got %v", err)
	}
}
