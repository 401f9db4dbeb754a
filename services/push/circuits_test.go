package push

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
)

// carry lets policies plan these circuits from now on.
func (p *plans) carry(ids ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.circuits = ids
}

// Who waits for a circuit learns from its change set whether routers got it, and why not.
func TestAChangeSetNamesItsCircuits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plans.carry("c-1", "c-2")
	w.plans.refused = []*policyv1.RefusedCircuit{{Circuit: "c-3", Reason: "it names no traffic"}}
	must(t, w.command([]string{"create", "day-1"}), "planned")
	cs := w.get()
	if d := cmp.Diff(cs.GetCircuits(), []string{"c-1", "c-2"}); d != "" {
		t.Errorf("circuits (-got +want):\n%s", d)
	}
	if d := cmp.Diff(cs.GetRefusedCircuits(), w.plans.refused, protocmp.Transform()); d != "" {
		t.Errorf("refused circuits (-got +want):\n%s", d)
	}
	if text := strings.Join(cs.GetNotes(), "\n"); !strings.Contains(text, "circuit c-3 is refused: it names no traffic") {
		t.Errorf("notes:\n%s", text)
	}
}

// A circuit that is left out of the list would look as if routers did not have it.
func TestMoreCircuitsThanARecordHoldsAreNotPlanned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var many []string
	for i := range 20_000 {
		many = append(many, fmt.Sprintf("c-%012d", i))
	}
	w.plans.carry(many...)
	must(t, w.command([]string{"create", "day-1"}), "failed")
	if h := w.record().GetHistory(); !strings.Contains(h[len(h)-1].GetNote(), "it puts 20000 circuits on routers, more than a change set can name") {
		t.Errorf("history %v", h)
	}
}
