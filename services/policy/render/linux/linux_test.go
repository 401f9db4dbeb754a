package linux

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/ygot/ygot"

	"github.com/millrace/millrace/internal/shares"
	"github.com/millrace/millrace/policies"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
	"github.com/millrace/millrace/services/policy/offline"
	"github.com/millrace/millrace/services/policy/render/openconfig"
	"github.com/millrace/millrace/services/routeragent/intent"
	"github.com/millrace/millrace/services/routeragent/kernel"
	"github.com/millrace/millrace/services/routeragent/tree"
	"github.com/millrace/millrace/services/twin/predict"
)

func plans(t *testing.T, name string) []compile.RouterPlan {
	t.Helper()
	dir := filepath.Join("../../../../policies/golden", name)
	raw, err := os.ReadFile(filepath.Join(dir, "network.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	n, err := offline.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	text, err := policies.Files.ReadFile(n.Policy)
	if err != nil {
		text, err = os.ReadFile(filepath.Join(dir, n.Policy))
	}
	if err != nil {
		t.Fatal(err)
	}
	p, problems := document.Parse(n.Policy, string(text))
	if err := document.Join(problems); err != nil {
		t.Fatal(err)
	}
	result, err := compile.Compile(n.Input(*p, nil))
	if err != nil {
		t.Fatal(err)
	}
	return result.Plans
}

// The agent computes classes from the OpenConfig of a plan, the view and the simulator from the plan itself: all three
// must have the same numbers.
func TestTheAgentAndTheTwinHaveTheClassesOfTheView(t *testing.T) {
	dirs, err := filepath.Glob("../../../../policies/golden/*/network.yaml")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no golden cases: %v", err)
	}
	for _, d := range dirs {
		name := filepath.Base(filepath.Dir(d))
		t.Run(name, func(t *testing.T) {
			for _, plan := range plans(t, name) {
				compareClasses(t, plan)
			}
		})
	}
}

func compareClasses(t *testing.T, plan compile.RouterPlan) {
	t.Helper()
	speeds := map[string]uint64{}
	for _, port := range plan.Ports {
		speeds[port.Interface] = uint64(port.Speed)
	}
	agent, err := intent.Compile(configuration(t, plan), func(name string) (intent.Interface, bool) {
		return intent.Interface{Speed: max(speeds[name], 1_000_000), Buffer: 1_000_000}, true
	}, intent.IDs{})
	if err != nil {
		t.Fatal(err)
	}
	for _, port := range plan.Ports {
		if port.Speed == 0 {
			continue
		}
		var got, want []string
		for _, c := range classesOf(plan, port) {
			got = append(got, fmt.Sprintf("te-%s class %d rate %d ceil %d prio %d quantum %d buffer %d", c.queue.Name, c.number, c.Rate, c.Ceil, c.Priority, c.Quantum, c.buffer))
		}
		for _, q := range agent.Kernel.Ports[port.Interface].Queues {
			ceil := q.Ceil
			if ceil == 0 {
				ceil = uint64(port.Speed)
			}
			want = append(want, fmt.Sprintf("%s class %d rate %d ceil %d prio %d quantum %d buffer %d", q.Name, q.Class, q.Rate, ceil, q.Priority, q.Quantum, q.Buffer))
		}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("%s %s (-view +agent):\n%s", plan.Router, port.Interface, diff)
		}
		twin := predict.Queues(plan.At(port), float64(port.Speed))
		simulated := map[string]shares.Class{}
		for i, c := range twin.Classes() {
			simulated[twin.Queues[i].Name] = c
		}
		for _, c := range classesOf(plan, port) {
			if diff := cmp.Diff(c.Class, simulated[c.queue.Name]); diff != "" {
				t.Errorf("%s %s queue %s (-view +twin):\n%s", plan.Router, port.Interface, c.queue.Name, diff)
			}
		}
	}
}

// configuration is the plan as the agent holds it.
func configuration(t *testing.T, plan compile.RouterPlan) *tree.Node {
	t.Helper()
	list, err := openconfig.Entries(plan)
	if err != nil {
		t.Fatal(err)
	}
	config := tree.New()
	for _, u := range list {
		gp, err := ygot.StringToStructuredPath(u.Path)
		if err != nil {
			t.Fatal(err)
		}
		p, err := tree.Resolve(nil, gp)
		if err != nil {
			t.Fatal(err)
		}
		d := json.NewDecoder(strings.NewReader(u.Body))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		if err := config.Replace(p, v); err != nil {
			t.Fatal(err)
		}
	}
	return config
}

func TestTheViewOfAPlan(t *testing.T) {
	for _, c := range []struct {
		golden, router string
		want           []string
	}{
		{"hntes-three-queue-scavenger", "wr", []string{
			"tc qdisc replace dev ge-cr root handle 7e00: htb default 12",
			"tc class replace dev ge-cr parent 7e00:1 classid 7e00:11 htb rate 4900000000bit ceil 10000000000bit prio 0 quantum 74186  # te-alpha",
			"tc qdisc replace dev ge-cr parent 7e00:13 handle 7e13: bfifo limit 1250000",
			"# te-ingress on ge-w1, ge-wa, ingress:",
			"# policer alpha-1g on each of ge-w1, ge-wa: queue te-alpha, 1Gbit/s with bursts of 31kB; above it to queue te-scavenger",
			"ip rule add pref 20001 fwmark 0x00010000/0x0fff0000 lookup 20001",
		}},
		{"hntes-wred", "wr", []string{"handle 7e91: gred setup DPs 4 default 0 limit 75000000  # of loss priority high 100 % dropped at 100 % full, none below 0 %"}},
		{"every-word", "wr", []string{
			"handle 7e53: red limit 25000000 min 7500000 max 22500000 probability 0.10 ecn",
			"htb rate 2000000000bit ceil 2000000000bit prio 0", "every packet: queue te-bulk, DSCP becomes le",
		}},
	} {
		i := slices.IndexFunc(plans(t, c.golden), func(p compile.RouterPlan) bool { return p.Router == c.router })
		text, err := Text(plans(t, c.golden)[i])
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is missing in:\n%s", c.golden, want, text)
			}
		}
	}
}

// TestTheAgentReadsACircuitBetweenPorts as the compiler planned it.
func TestTheAgentReadsACircuitBetweenPorts(t *testing.T) {
	plan := plans(t, "circuits-two-queue")[2]
	plan.Attachments = []compile.Attachment{{
		Circuit: "c1", Name: "te-circuit-c1", End: "from", Port: "ge-w1", VLAN: 100, Number: 7, Local: netip.MustParseAddr("198.18.0.14"), Remote: netip.MustParseAddr("198.18.0.15"),
		Queue: "circuits", LSP: plan.LSPs[0].Name,
	}}
	got, err := intent.Compile(configuration(t, plan), func(string) (intent.Interface, bool) {
		return intent.Interface{Speed: 1_000_000_000, Buffer: 1_000_000}, true
	}, intent.IDs{})
	if err != nil {
		t.Fatal(err)
	}
	a, c := plan.Attachments[0], got.Kernel.Circuits[0]
	mark := kernel.Mark(got.IDs.Classes["te-circuits"], got.IDs.Paths[a.LSP])
	if c.Name != a.Name || c.Port != a.Port || c.VLAN != a.VLAN || c.VNI != a.Number || c.Local != a.Local || c.Remote != a.Remote || c.Mark != mark {
		t.Errorf("the agent makes %+v of %+v", c, a)
	}
	if at := got.Circuits[0]; at.Point != "local" || at.Endpoint != a.End {
		t.Errorf("it counts at connection point %s, endpoint %s, not at local and %s", at.Point, at.Endpoint, a.End)
	}
	text, err := Text(plan)
	if err != nil || !strings.Contains(text, "# te-circuit-c1: frames of VLAN 100 of ge-w1, queue te-circuits, LSP "+a.LSP+"; VXLAN 7 from 198.18.0.14 to 198.18.0.15") {
		t.Errorf("the view (%v):\n%s", err, text)
	}
}
