package exporter

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTheObjectiveLeavesOutWhatIsNoLoss: deploy/prometheus/slo.yaml counts drops by reason, but for those that took no
// flow of the inventory's exporters with them.
func TestTheObjectiveLeavesOutWhatIsNoLoss(t *testing.T) {
	raw, err := os.ReadFile("../../../deploy/prometheus/slo.yaml")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`flow_drops_total\{reason!~"([a-z_|]+)"\}`).FindSubmatch(raw)
	if m == nil {
		t.Fatal("slo.yaml counts no drops of collectors by reason")
	}
	none := map[string]bool{string(ReasonEvent): true, string(ReasonNotFlow): true, string(ReasonReplayed): true, string(ReasonUnlisted): true}
	for reason := range notLost {
		none[string(reason)] = true
	}
	if d := cmp.Diff(strings.Split(string(m[1]), "|"), slices.Sorted(maps.Keys(none))); d != "" {
		t.Errorf("reasons that are no loss (-slo.yaml +collector):\n%s", d)
	}
}
