package intent

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/services/routeragent/tree"
)

// A policer in percent of an unknown speed is left out, one in bit/s is not.
func TestAPolicerInPercentOfAnUnknownSpeedIsLeftOut(t *testing.T) {
	policy := func(name, cir string) string {
		return `{"name":"` + name + `","config":{"name":"` + name + `"},"schedulers":{"scheduler":[{"sequence":1,"config":{"sequence":1},"inputs":{"input":[{"id":"q","config":{"id":"q","input-type":"QUEUE","queue":"q"}}]},
			"one-rate-two-color":{"config":{"queuing-behavior":"POLICE",` + cir + `,"bc":10000},"exceed-action":{"config":{"drop":true}}}}]}}`
	}
	port := func(name, policy string) string {
		return `{"interface-id":"` + name + `","config":{"interface-id":"` + name + `"},"input":{"scheduler-policy":{"config":{"name":"` + policy + `"}}}}`
	}
	compile := func(unknown, known string) Plan {
		n, err := tree.FromJSON([]byte(`{"openconfig-qos:qos":{"queues":{"queue":[{"name":"q","config":{"name":"q","queue-id":1}}]},
			"scheduler-policies":{"scheduler-policy":[` + policy("percent", `"cir-pct":10`) + `,` + policy("rate", `"cir":"10000000"`) + `]},
			"interfaces":{"interface":[` + port("ge-unknown-rate", unknown) + `,` + port("ge-a", known) + `]}}}`))
		if err != nil {
			t.Fatal(err)
		}
		p, err := Compile(n, hardware, IDs{})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if p := compile("rate", "percent"); p.Lacks() != nil || len(p.Kernel.Policers["ge-unknown-rate"]) != 1 {
		t.Errorf("lacks %v, polices %v", p.Lacks(), p.Kernel.Policers)
	}
	p := compile("percent", "percent")
	left := slices.Collect(maps.Keys(p.LeftOut))
	if diff := cmp.Diff([]string{"/qos/interfaces/interface[interface-id=ge-unknown-rate]/input"}, left); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
	if len(p.Kernel.Policers) != 1 || p.Kernel.Policers["ge-a"][0].Rate != 10e6 {
		t.Errorf("polices %v", p.Kernel.Policers)
	}
}
