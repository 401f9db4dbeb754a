package intent

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/services/routeragent/kernel"
)

// second puts another LSP into the group of hntes.json, with what follows as its weights.
func second(weights string) []string {
	tunnel := `{"name":"te-lsp-8","config":{"name":"te-lsp-8","type":"openconfig-mpls-types:P2P","signaling-protocol":"openconfig-mpls-types:PATH_SETUP_SR"},"p2p-tunnel-attributes":{"config":{"destination":"10.255.0.4"},"p2p-primary-path":{"p2p-primary-path":[{"name":"te-p7","config":{"name":"te-p7","path-computation-method":"openconfig-mpls-types:EXPLICITLY_DEFINED","explicit-path-name":"te-p7"}}]}}}`
	return []string{`"tunnel":[`, `"tunnel":[` + tunnel + ",", `"mpls-lsp":["te-lsp-7"]}`, `"mpls-lsp":["te-lsp-8","te-lsp-7"]}` + weights}
}

func weight(lsp, w string) string {
	return `{"name":"` + lsp + `","config":{"name":"` + lsp + `"` + w + `}}`
}

func TestAGroupOfLSPsIsASetWithWeights(t *testing.T) {
	for _, c := range []struct {
		name, weights string
		first, second int
	}{
		{"without weights, equal", "", 1, 1},
		{"a weight", `,"te-lsp-ext:lsps":{"lsp":[` + weight("te-lsp-8", `,"weight":3`) + `]}`, 1, 3},
		{"two", `,"te-lsp-ext:lsps":{"lsp":[` + weight("te-lsp-7", `,"weight":20`) + "," + weight("te-lsp-8", `,"weight":11`) + `]}`, 20, 11},
		{"an entry without a weight", `,"te-lsp-ext:lsps":{"lsp":[` + weight("te-lsp-7", ``) + `]}`, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, err := Compile(config(t), hardware, IDs{})
			if err != nil {
				t.Fatal(err)
			}
			p, err := Compile(config(t, second(c.weights)...), hardware, before.IDs)
			if err != nil {
				t.Fatal(err)
			}
			a, b := p.IDs.Paths["te-lsp-7"], p.IDs.Paths["te-lsp-8"]
			if a != before.IDs.Paths["te-lsp-7"] {
				t.Error("the LSP that stays has another number")
			}
			ca, cb := p.IDs.Counters["group te-7/te-lsp-7"], p.IDs.Counters["group te-7/te-lsp-8"]
			id := p.IDs.Paths["group te-7"]
			want := map[int][]kernel.Member{id: {{Path: a, Weight: c.first, Counter: ca}, {Path: b, Weight: c.second, Counter: cb}}}
			if diff := cmp.Diff(want, p.Kernel.Sets); diff != "" || ca == cb {
				t.Errorf("sets (-want +got), counters %d and %d:\n%s", ca, cb, diff)
			}
			if r := p.Kernel.Policies["te-in"][0]; !r.Set || r.Mark != kernel.Mark(1, id) {
				t.Errorf("the rule is %+v", r)
			}
			if len(p.Kernel.Paths) != 2 {
				t.Errorf("ip rules lead into %v, which are not the two LSPs", p.Kernel.Paths)
			}
		})
	}
}

func TestASetThatCannotBeIsRefused(t *testing.T) {
	for what, replace := range map[string][]string{
		`not one of the group's mpls-lsp`: second(`,"te-lsp-ext:lsps":{"lsp":[` + weight("te-lsp-9", `,"weight":3`) + `]}`),
		`which has several LSPs`:          append(second(""), beside(circuit)...),
	} {
		if _, err := Compile(config(t, replace...), hardware, IDs{}); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
