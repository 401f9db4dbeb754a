package intent

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/services/routeragent/tree"
)

// lspsOf is a configuration with so many LSPs of each generation: another path is another name.
func lspsOf(t *testing.T, generations map[string]int) *tree.Node {
	t.Helper()
	var paths, tunnels []string
	for _, generation := range slices.Sorted(maps.Keys(generations)) {
		for i := range generations[generation] {
			name := fmt.Sprintf("te-lsp-%d-%s", i, generation)
			paths = append(paths, fmt.Sprintf(`{"name":%q,"config":{"name":%q},"explicit-route-objects":{"explicit-route-object":[
				{"index":1,"config":{"index":1,"address":"10.255.0.4","hop-type":"LOOSE"}}]}}`, name, name))
			tunnels = append(tunnels, fmt.Sprintf(`{"name":%q,"config":{"name":%q,"type":"P2P","signaling-protocol":"PATH_SETUP_SR"},
				"p2p-tunnel-attributes":{"config":{"destination":"10.255.0.4"},"p2p-primary-path":{"p2p-primary-path":[
				{"name":"p","config":{"name":"p","path-computation-method":"EXPLICITLY_DEFINED","explicit-path-name":%q}}]}}}`, name, name, name))
		}
	}
	config, err := tree.FromJSON([]byte(`{"openconfig-network-instance:network-instances":{"network-instance":[{"name":"DEFAULT","config":{"name":"DEFAULT"},
		"mpls":{"lsps":{"constrained-path":{"named-explicit-paths":{"named-explicit-path":[` + strings.Join(paths, ",") + `]},
		"tunnels":{"tunnel":[` + strings.Join(tunnels, ",") + `]}}}}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// 600 LSPs get other paths, and so other names: old and new ones do not fit beside each other into the 999 numbers. The
// refusal says that, and what to do; in two steps it is possible, and no number is taken while packets follow it.
func TestNumbersOfWhatGoesAreFreeAfterTheChange(t *testing.T) {
	before, err := Compile(lspsOf(t, map[string]int{"a": 600}), hardware, IDs{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Compile(lspsOf(t, map[string]int{"b": 600}), hardware, before.IDs)
	want := "more than 999 tunnels, with those that this change removes: their numbers are free when it is done"
	if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "in several steps") {
		t.Errorf("all at once: %v, want %q", err, want)
	}
	old := before.IDs
	for _, step := range []map[string]int{{"a": 300, "b": 300}, {"b": 600}} {
		plan, err := Compile(lspsOf(t, step), hardware, old)
		if err != nil {
			t.Fatalf("%v: %v", step, err)
		}
		had := map[int]string{}
		for name, id := range old.Paths {
			had[id] = name
		}
		for name, id := range plan.IDs.Paths {
			if was := had[id]; was != "" && was != name {
				t.Errorf("%v: %s has the number %d, which %s has until the change is done", step, name, id, was)
			}
		}
		old = plan.IDs
	}
}
