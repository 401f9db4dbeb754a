package intent

import (
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millrace/millrace/services/routeragent/kernel"
	"github.com/millrace/millrace/services/routeragent/tree"
)

func hardware(name string) (Interface, bool) {
	switch name {
	case "ge-a", "ge-b":
		return Interface{Speed: 100e6, Buffer: 1250000}, true
	case "ge-unknown-rate":
		return Interface{}, true
	case "lo":
		return Interface{Loopback: true}, true
	case "ge-core":
		return Interface{RouterUses: func() (string, error) { return "the next hop of label 16001", nil }}, true
	case "ge-gone":
		return Interface{RouterUses: func() (string, error) { return "", errors.New("it has just gone") }}, true
	case "ge-free":
		return Interface{RouterUses: func() (string, error) { return "", nil }}, true
	}
	return Interface{}, false
}

func config(t *testing.T, replace ...string) *tree.Node {
	t.Helper()
	raw, err := os.ReadFile("../testdata/hntes.json")
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	compact, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	s := string(compact)
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(s, replace[i]) {
			t.Fatalf("configuration lacks %q", replace[i])
		}
		s = strings.ReplaceAll(s, replace[i], replace[i+1])
	}
	n, err := tree.FromJSON([]byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

var comparers = cmp.Options{cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{}), cmpopts.EquateEmpty(), cmpopts.IgnoreFields(Plan{}, "Seen")}

func TestHNTESCompilesToTwoQueuesOneRuleOneLSP(t *testing.T) {
	got, err := Compile(config(t), hardware, IDs{})
	if err != nil {
		t.Fatal(err)
	}
	want := Plan{
		Kernel: kernel.Spec{
			Ports: map[string]kernel.Port{"ge-b": {Speed: 100e6, Default: 2, Queues: []kernel.Queue{
				{Name: "te-alpha", Class: 1, Rate: 95e6, Priority: 0, Quantum: 28766, Buffer: 1187500},
				{Name: "te-beta", Class: 2, Rate: 5e6, Priority: 1, Quantum: 1514, Buffer: 62500},
			}}},
			Policies: map[string][]kernel.Rule{"te-in": {{Sequence: 10, Mark: kernel.Mark(1, 1),
				Src: netip.MustParsePrefix("10.0.1.0/24"), Dst: netip.MustParsePrefix("198.51.100.0/24")}}},
			Bindings: map[string]string{"ge-a": "te-in"},
			Paths:    []int{1},
		},
		Tunnels: []Tunnel{{Name: "te-lsp-7", Path: "te-p7", ID: 1, Destination: netip.MustParseAddr("10.255.0.4"),
			Hops: []Hop{{netip.MustParseAddr("10.0.2.2"), true}, {netip.MustParseAddr("10.255.0.4"), false}}}},
		IDs:     IDs{Classes: map[string]int{"te-alpha": 1, "te-beta": 2}, Paths: map[string]int{"te-lsp-7": 1}, Counters: map[string]int{"te-in/10": 0}},
		PortIDs: map[string]string{"ge-b": "ge-b"},
		Rules:   map[RuleID]int{{"te-in", 10}: 0},
	}
	if diff := cmp.Diff(want, got, comparers); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

func TestIDsStayWithTheirNames(t *testing.T) {
	old := IDs{Classes: map[string]int{"te-beta": 1, "gone": 2}, Paths: map[string]int{"te-old": 1}, Counters: map[string]int{"te-in/10": 7}}
	got, err := Compile(config(t), hardware, old)
	if err != nil {
		t.Fatal(err)
	}
	// te-alpha must not get 2, nor the tunnel 1: what had them may still be in the kernel.
	want := IDs{Classes: map[string]int{"te-beta": 1, "te-alpha": 3}, Paths: map[string]int{"te-lsp-7": 2}, Counters: map[string]int{"te-in/10": 7}, Policers: map[string]int{}}
	if diff := cmp.Diff(want, got.IDs); diff != "" {
		t.Errorf("IDs (-want +got):\n%s", diff)
	}
}

func TestOrderOfServiceIsTheSequenceWithoutPriorityLevels(t *testing.T) {
	got, err := Compile(config(t, `,"te-qos-ext:priority-level":"MEDIUM_HIGH"`, ``, `,"te-qos-ext:priority-level":"MEDIUM_LOW"`, ``), hardware, IDs{})
	if err != nil {
		t.Fatal(err)
	}
	q := got.Kernel.Ports["ge-b"].Queues
	if q[0].Priority != 0 || q[1].Priority != 1 {
		t.Errorf("priorities %d and %d, want 0 and 1", q[0].Priority, q[1].Priority)
	}
}

func TestBufferWithoutProfileIsTheWeightsShare(t *testing.T) {
	got, err := Compile(config(t, `"dedicated-buffer":"1187500",`, ``, `"dedicated-buffer":"62500",`, ``), hardware, IDs{})
	if err != nil {
		t.Fatal(err)
	}
	q := got.Kernel.Ports["ge-b"].Queues
	if q[0].Buffer != 1187500 || q[1].Buffer != 62500 {
		t.Errorf("buffers %d and %d, want 95 and 5 %% of 1250000", q[0].Buffer, q[1].Buffer)
	}
}

// What is computed from a speed that is unknown is left out and named, and nothing else is.
func TestAPortOfUnknownSpeedLeavesOutWhatNeedsIt(t *testing.T) {
	whole, err := Compile(config(t), hardware, IDs{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Compile(config(t, `"interface":"ge-b"`, `"interface":"ge-unknown-rate"`), hardware, IDs{})
	if err != nil {
		t.Fatal(err)
	}
	if why := got.LeftOut["/qos/interfaces/interface[interface-id=ge-b]/output"]; len(got.LeftOut) != 1 || why == nil || got.Lacks() == nil {
		t.Errorf("left out %v, lacks %v", got.LeftOut, got.Lacks())
	}
	whole.Kernel.Ports, whole.PortIDs, got.PortIDs, got.LeftOut = nil, nil, nil, nil
	if diff := cmp.Diff(whole, got, comparers); diff != "" {
		t.Errorf("the rest of the plan (-of a known speed +of an unknown one):\n%s", diff)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name        string
		replace     []string
		path        string
		unsupported bool
	}{
		{"a queue without a share", []string{`,"weight":"5"`, ``}, "/weight", false},
		{"excess shared equally by some schedulers only", []string{`"te-qos-ext:priority-level":"MEDIUM_LOW"`, `"te-qos-ext:priority-level":"MEDIUM_LOW","te-qos-ext:excess-sharing":"EQUAL"`}, "/scheduler-policy[name=te-2q]", false},
		{"a shaper without a rate", []string{`"sequence":2,`, `"sequence":2,"type":"openconfig-qos-types:ONE_RATE_TWO_COLOR",`, `{"config":{"sequence":2`, `{"one-rate-two-color":{"config":{"queuing-behavior":"openconfig-qos-types:SHAPE"}},"config":{"sequence":2`}, "/one-rate-two-color", false},
		{"priority levels on some schedulers only", []string{`,"te-qos-ext:priority-level":"MEDIUM_LOW"`, ``}, "/scheduler-policy[name=te-2q]", false},
		{"a policy type that redirects elsewhere", []string{"MATCH_ACTION_POLICY", "PBR_POLICY"}, "/type", true},
		{"a tunnel signalled by RSVP", []string{"PATH_SETUP_SR", "PATH_SETUP_RSVP"}, "/signaling-protocol", true},
		{"a tunnel that is not ours by name", []string{"te-lsp-7", "gold"}, "/tunnel[name=gold]", true},
		{"a rule that does nothing", []string{`"path-selection-group":"te-7"`, ``, `,"qos-forwarding-group":"te-alpha"`, ``}, "/action", false},
		{"a rule that drops", []string{"openconfig-policy-forwarding:FORWARD", "openconfig-policy-forwarding:DROP"}, "/forwarding-action", true},
		{"a match on the hop limit", []string{`"source-address-prefix-set":"te-src-7"`, `"source-address-prefix-set":"te-src-7","hop-limit":8`}, "/hop-limit", true},
		{"another network instance", []string{`"DEFAULT"`, `"blue"`}, "[name=blue]", true},
		{"a group of an LSP that is not there", []string{`["te-lsp-7"]`, `["te-lsp-7","te-lsp-8"]`}, "/mpls-lsp", false},
		{"IPv6 onto SR-MPLS", []string{`"ipv4":{"config":{"destination-address-prefix-set":"te-dst-7","source-address-prefix-set":"te-src-7"}}`, `"ipv6":{"config":{"destination-address":"2001:db8::/32"}}`}, "/ipv6", true},
		{"IPv4 hops before segments", []string{`"explicit-route-object":[`, `"explicit-route-object":[{"index":2,"config":{"index":2,"address":"fd00::1","hop-type":"LOOSE"}},`}, "/address", false},
		{"a prefix set of IPv6", []string{`"10.0.1.0/24"`, `"2001:db8::/32"`}, "/prefix", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Compile(config(t, c.replace...), hardware, IDs{})
			var refused *Error
			if !errors.As(err, &refused) {
				t.Fatalf("error %v, want a refusal", err)
			}
			if !strings.Contains(refused.Path, c.path) || refused.Unsupported != c.unsupported {
				t.Errorf("refused at %s (unsupported %v): %s; want %s (%v)", refused.Path, refused.Unsupported, refused.Reason, c.path, c.unsupported)
			}
		})
	}
}
