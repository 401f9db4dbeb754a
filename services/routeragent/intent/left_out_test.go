package intent

import (
	"maps"
	"slices"
	"strings"
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

// without is a router that has lost a port.
func without(port string) Hardware {
	return func(name string) (Interface, bool) {
		if name == port {
			return Interface{}, false
		}
		return hardware(name)
	}
}

// inputs are a policer and a classifier of one port.
const inputs = `{"openconfig-qos:qos":{"queues":{"queue":[{"name":"q","config":{"name":"q","queue-id":1}}]},
	"forwarding-groups":{"forwarding-group":[{"name":"g","config":{"name":"g","output-queue":"q"}}]},
	"classifiers":{"classifier":[{"name":"c","config":{"name":"c","type":"IPV4"},"terms":{"term":[{"id":"1","config":{"id":"1"},"conditions":{"ipv4":{"config":{"dscp":8}}},"actions":{"config":{"target-group":"g"}}}]}}]},
	"scheduler-policies":{"scheduler-policy":[{"name":"p","config":{"name":"p"},"schedulers":{"scheduler":[{"sequence":1,"config":{"sequence":1},"inputs":{"input":[{"id":"q","config":{"id":"q","input-type":"QUEUE","queue":"q"}}]},
	"one-rate-two-color":{"config":{"queuing-behavior":"POLICE","cir":"10000000","bc":10000},"exceed-action":{"config":{"drop":true}}}}]}}]},
	"interfaces":{"interface":[{"interface-id":"ge-a","config":{"interface-id":"ge-a"},"input":{"scheduler-policy":{"config":{"name":"p"}},"classifiers":{"classifier":[{"type":"IPV4","config":{"type":"IPV4","name":"c"}}]}}}]}}}`

// What a port has that is gone is left out, and named; all else is in the plan as it was, and IDs stay.
func TestAPortThatIsGoneLeavesOutWhatIsBoundToIt(t *testing.T) {
	qos, err := tree.FromJSON([]byte(inputs))
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		config *tree.Node
		port   string
		out    []string
		remove func(p *Plan)
	}{
		"scheduler": {config(t, beside(circuit)...), "ge-b", []string{"/qos/interfaces/interface[interface-id=ge-b]/output"},
			func(p *Plan) { p.Kernel.Ports = nil }},
		"forwarding policy and circuit": {config(t, beside(circuit)...), "ge-a", []string{
			"/network-instances/network-instance[DEFAULT]/policy-forwarding/interfaces/interface[interface-id=ge-a]",
			"/network-instances/network-instance[name=te-c1]/connection-points/connection-point[connection-point-id=local]/endpoints/endpoint[endpoint-id=l]/local/config/interface",
		}, func(p *Plan) {
			p.Kernel.Bindings, p.Kernel.Policies, p.Kernel.Circuits, p.Circuits = nil, nil, nil, nil
		}},
		"policer and classifier": {qos, "ge-a", []string{
			"/qos/interfaces/interface[interface-id=ge-a]/input", "/qos/interfaces/interface[interface-id=ge-a]/input/classifiers",
		}, func(p *Plan) {
			p.Kernel.Bindings, p.Kernel.Policies, p.Kernel.Policers, p.Kernel.Unruled, p.Policers, p.Terms = nil, nil, nil, 0, nil, nil
		}},
	} {
		t.Run(what, func(t *testing.T) {
			whole, err := Compile(c.config, hardware, IDs{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := Compile(c.config, without(c.port), whole.IDs)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.out, slices.Sorted(maps.Keys(got.LeftOut))); diff != "" {
				t.Errorf("left out (-want +got):\n%s", diff)
			}
			for _, why := range got.LeftOut {
				if !Absent(why) || !strings.Contains(why.Error(), c.port) {
					t.Errorf("left out because of %v", why)
				}
			}
			want := whole
			c.remove(&want)
			want.PortIDs, got.PortIDs, got.LeftOut = nil, nil, nil
			if diff := cmp.Diff(want, got, comparers); diff != "" {
				t.Errorf("the rest of the plan (-with the port +without it):\n%s", diff)
			}
			again, err := Compile(c.config, hardware, got.IDs)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(whole.IDs, again.IDs, comparers); diff != "" || again.Lacks() != nil {
				t.Errorf("with the port again it lacks %v, and IDs (-before +after):\n%s", again.Lacks(), diff)
			}
		})
	}
}

// A port that goes or comes in the middle of a compilation is there for all of it, or for nothing.
func TestEachInterfaceIsAskedForOnceInAPlan(t *testing.T) {
	asked := map[string]int{}
	_, err := Compile(config(t, beside(circuit)...), func(name string) (Interface, bool) {
		asked[name]++
		return hardware(name)
	}, IDs{})
	if diff := cmp.Diff(map[string]int{"ge-a": 1, "ge-b": 1}, asked); diff != "" || err != nil {
		t.Errorf("asked (-want +got): %s, %v", diff, err)
	}
}
