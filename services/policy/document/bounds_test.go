package document

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestPoliciesAtTheirBounds: each value is the last that is allowed.
func TestPoliciesAtTheirBounds(t *testing.T) {
	const queues = `policy: p
queues:
  - {name: beta, id: 0, weight: 5, buffer: 5, priority: high, default: true}
  - {name: alpha, id: 7, weight: 95, buffer: 95, priority: high}
redirect:
  - {pairs: alpha, queue: alpha}
`
	for name, text := range map[string]string{
		"the highest queue id":            queues,
		"a queue's longest name":          strings.ReplaceAll(queues, "name: beta", "name: "+strings.Repeat("b", MaxName)),
		"a queue's highest limit":         strings.Replace(queues, "buffer: 95", "buffer: 95, max_rate: 100", 1),
		"a limit as high as the weight":   strings.Replace(queues, "buffer: 95", "buffer: 95, max_rate: 95", 1),
		"a strict limit at the weight":    "scheduling: {partition: strict}\n" + strings.Replace(queues, "buffer: 95", "buffer: 95, max_rate: 95", 1),
		"a strict policy without a limit": "scheduling: {partition: strict}\n" + queues,
		"a burst of one packet":           queues + "policers:\n  - {name: x, queue: beta, rate: 1Gbit/s, burst: 1500B, exceed: {drop: true}}\n",
		"the largest burst":               queues + "policers:\n  - {name: x, queue: beta, rate: 1Gbit/s, burst: 4294967295B, exceed: {drop: true}}\n",
		"a peak as high as the rate":      queues + "policers:\n  - {name: x, queue: beta, rate: 1Gbit/s, burst: 31kB, peak_rate: 1Gbit/s, exceed: {mark: cs1}, violate: {drop: true}}\n",
		"a split down to 1 %":             queues + "split: {alpha: alpha, beta: beta, min: 1, max: 5}\n",
		"a split of one share":            queues + "split: {alpha: alpha, beta: beta, min: 5, max: 5}\n",
		"a split up to the last percent":  queues + "split: {alpha: alpha, beta: beta, min: 5, max: 99}\n",
		"the most LSPs":                   strings.Replace(queues, "queue: alpha}", "queue: alpha, lsp: {paths: 16, min_bandwidth: 1Gbit/s}}", 1),
	} {
		if _, problems := Parse("p.yaml", text); len(problems) > 0 {
			t.Errorf("%s: %v", name, Join(problems))
		}
	}
}

// Scheduler policies of routers are te-POLICY and te-POLICY-SHARE, te-police-NUMBER and te-profile-CIRCUIT.
func TestAPolicyHasNotTheNameOfPolicers(t *testing.T) {
	for name, ok := range map[string]bool{
		"police": false, "police-1": false, "police-12": false, "profile": false, "profile-x": false, "profile-x-5": false,
		"police-1-a": true, "police-a": true, "polices": true, "policers": true, "profiles": true, "a-profile-x": true, "a-police-1": true,
	} {
		_, problems := Parse("p.yaml", "policy: "+name+"\nqueues:\n  - {name: a, id: 0, weight: 100, buffer: 100, priority: low, default: true}\n")
		if refused := strings.Contains(fmt.Sprint(Join(problems)), "would be the name of policers"); refused == ok {
			t.Errorf("%s: %v", name, Join(problems))
		}
	}
}

func TestTheMostLSPsByHand(t *testing.T) {
	text := `policy: p
queues:
  - {name: be, id: 0, weight: 5, buffer: 5, priority: high, default: true}
  - {name: bulk, id: 1, weight: 95, buffer: 95, priority: high}
redirect:
  - queue: bulk
    between: [{source: 192.0.2.0/24, destination: 198.51.100.0/24}]
    lsps:
`
	for i := range MaxPaths {
		text += fmt.Sprintf("      - {via: [a, m%d, b]}\n", i)
	}
	if _, problems := Parse("p.yaml", text); len(problems) > 0 {
		t.Error(Join(problems))
	}
	for via, want := range map[string]string{"[a, m, c]": "goes from a to c", "[c, m, b]": "goes from c to b"} {
		_, problems := Parse("p.yaml", text[:strings.Index(text, "      - {via: [a, m1,")]+"      - {via: "+via+"}\n")
		if err := Join(problems); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", via, err, want)
		}
	}
}

func TestValuesAsText(t *testing.T) {
	for v, want := range map[fmt.Stringer]string{
		DSCP(46): "ef", DSCP(0): "be", DSCP(10): "af11", DSCP(3): "3",
		Protocol(0): "", TCP: "tcp", UDP: "udp", Protocol(99): "99",
		PortRange{5001, 5001}: "5001", PortRange{5001, 5201}: "5001-5201",
	} {
		if got := v.String(); got != want {
			t.Errorf("%#v is %q, want %q", v, got, want)
		}
	}
	for p, want := range map[Protocol]bool{TCP: true, UDP: true, 1: false, 0: false} {
		if p.HasPorts() != want {
			t.Errorf("protocol %d has ports: %t", p, p.HasPorts())
		}
	}
	for text, ok := range map[string]bool{"1": true, "1-65535": true, "7-7": true, "8-7": false, "1-": false, "-1": false, "1-65536": false, "65536": false, "a-1": false, "1-a": false} {
		if err := new(PortRange).UnmarshalText([]byte(text)); (err == nil) != ok {
			t.Errorf("ports %q: %v", text, err)
		}
	}
	for text, ok := range map[string]bool{"1ns": true, "100ms": true, "0s": false, "-1s": false, "x": false} {
		var d Duration
		if err := d.UnmarshalText([]byte(text)); (err == nil) != ok {
			t.Errorf("duration %q: %v", text, err)
		}
	}
}

func TestWhatAFileMayLeaveOut(t *testing.T) {
	if got := time.Duration(defaultPolicy().BufferTime); got != 100*time.Millisecond {
		t.Errorf("buffers of %v", got)
	}
	p := Policy{Policers: []Policer{{Burst: 31_000, PeakRate: 1e9}, {Burst: 31_000, PeakRate: 1e9, PeakBurst: 62_000}, {Burst: 31_000}}}.Normal()
	for i, want := range []int{31_000, 62_000, 0} {
		if got := int(p.Policers[i].PeakBurst); got != want {
			t.Errorf("policer %d: a peak burst of %d B, want %d", i, got, want)
		}
	}
	if p.Ports != PortsPath {
		t.Errorf("a policy without classes is for ports %v, want those of the path", p.Ports)
	}
	if !(&Policy{Force: []Force{{Guard: LBEPriority}}}).Forces(LBEPriority) || (&Policy{Force: []Force{{Guard: LBEPriority}}}).Forces(SplitsFlow) {
		t.Error("a policy crosses another guard rail than it says")
	}
	if (&LSP{Paths: 1}).Set() || !(&LSP{Paths: 2}).Set() {
		t.Error("two paths are a set, and one is none")
	}
}
