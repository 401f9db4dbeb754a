package split

import (
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	splitv1 "github.com/millrace/millrace/proto/gen/millrace/split/v1"
)

// Beta is short on the first port and has too much on the second, by the change set in force; another policy's, which
// is newer, does not matter. Nothing is known of the third.
func TestAdvice(t *testing.T) {
	n := newNeighbours()
	n.ports, n.beta = []string{"ge-1", "ge-2", "ge-3"}, map[string]float64{"ge-1": 2e9, "ge-2": 2e9}
	n.changes[0].Splits = []*policyv1.PortSplit{{Router: "wr", Interface: "ge-2", Beta: 40}}
	other := changeSet("other", noon.Add(-time.Hour), pushv1.State_STATE_VERIFIED)
	other.Policy, other.Splits = "geant-lbe", []*policyv1.PortSplit{{Router: "wr", Interface: "ge-1", Beta: 60}}
	n.changes = append([]*pushv1.ChangeSet{other}, n.changes...)
	r := newRig(t, n, nil)
	ask := func(policy string, days uint32) (*splitv1.AdviseResponse, error) {
		t.Helper()
		answer, err := r.api.Advise(t.Context(), connect.NewRequest(&splitv1.AdviseRequest{Policy: policy, Days: days}))
		if err != nil {
			return nil, err
		}
		return answer.Msg, nil
	}
	got, err := ask("hntes-split", 3)
	if err != nil {
		t.Fatal(err)
	}
	want := &splitv1.AdviseResponse{Policy: "hntes-split", Ports: []*splitv1.Advice{
		{Router: "wr", Interface: "ge-1", Share: 5, Should: 25, Rule: "raise-now", DemandPercent: 20},
		{Router: "wr", Interface: "ge-2", Share: 40, Should: 25, Rule: "lower", DemandPercent: 20},
		{Router: "wr", Interface: "ge-3", Share: 5, Should: 5, Rule: "missing", Why: "there are no counters of its queues"},
	}}
	ignored := []cmp.Option{protocmp.Transform(), protocmp.IgnoreFields(&splitv1.Advice{}, "forecast_percent")}
	for i, p := range got.GetPorts() {
		if i < 2 && !strings.Contains(p.GetWhy(), "%") {
			t.Errorf("%s: no figure in %q", p.GetInterface(), p.GetWhy())
		}
		if i < 2 {
			p.Why = ""
		}
	}
	if d := cmp.Diff(got, want, ignored...); d != "" {
		t.Errorf("(-got +want):\n%s", d)
	}
	if len(r.c.followers) != 0 || len(n.created) != 0 {
		t.Errorf("advice has left %d followers and %d change sets", len(r.c.followers), len(n.created))
	}
	r.change(func(n *neighbours) { n.split = nil })
	for name, c := range map[string]struct {
		days uint32
		code connect.Code
	}{"no days": {0, connect.CodeInvalidArgument}, "more than are kept": {15, connect.CodeInvalidArgument}, "no split": {1, connect.CodeFailedPrecondition}} {
		if _, err := ask("hntes-split", c.days); connect.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %v", name, err, c.code)
		}
	}
}
