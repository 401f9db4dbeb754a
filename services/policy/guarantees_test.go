package policy

import (
	"maps"
	"strings"
	"testing"

	"connectrpc.com/connect"

	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
)

// What the shipped policies guarantee: the weights of their files, but for queues whose weight a split moves.
func TestGuarantees(t *testing.T) {
	client := start(t, DefaultConfiguration())
	for policy, want := range map[string]struct {
		circuits string
		least    map[string]uint32
	}{
		"circuits-two-queue": {"circuits", map[string]uint32{"be": 20, "circuits": 80}},
		"hntes-two-queue":    {"", map[string]uint32{"beta": 5, "alpha": 95}},
		"hntes-split":        {"", map[string]uint32{"beta": 5, "alpha": 40}}, // beta has 5 to 60 %
	} {
		r, err := client.Guarantees(t.Context(), connect.NewRequest(&policyv1.GuaranteesRequest{Policy: policy}))
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]uint32{}
		for _, g := range r.Msg.GetGuarantees() {
			got[g.GetQueue()] = g.GetLeast()
		}
		if r.Msg.GetCircuits() != want.circuits || !maps.Equal(got, want.least) {
			t.Errorf("%s: queue %q of circuits, %v; want %+v", policy, r.Msg.GetCircuits(), got, want)
		}
	}
	_, err := client.Guarantees(t.Context(), connect.NewRequest(&policyv1.GuaranteesRequest{Policy: "nonsense"}))
	if connect.CodeOf(err) != connect.CodeNotFound || !strings.Contains(err.Error(), "there is ") {
		t.Errorf("a policy that is not there: %v", err)
	}
}
