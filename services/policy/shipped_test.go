package policy

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/policies"
	"github.com/millrace/millrace/services/policy/document"
	"github.com/millrace/millrace/services/policy/policytest"
)

func shipped(t *testing.T, name string) document.Policy {
	t.Helper()
	text, err := policies.Files.ReadFile(name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	p, problems := document.Parse(name+".yaml", string(text))
	if err := document.Join(problems); err != nil {
		t.Fatal(err)
	}
	return *p
}

func queuesText(p document.Policy) []string {
	var out []string
	for _, q := range p.Queues {
		out = append(out, fmt.Sprintf("%d %s %d%% %s", q.ID, q.Name, q.Weight, q.Priority))
	}
	return out
}

// Each shipped policy is the table of the paper it names.
func TestShippedPoliciesAreThePapersTables(t *testing.T) {
	for _, c := range []struct {
		policy, table string
		want          []string
	}{
		{"hntes-two-queue", "paper 002, section III-C: 95 and 5 %", []string{"0 beta 5% medium-low", "1 alpha 95% medium-high"}},
		{"hntes-split", "paper 002, section III-C, where its split begins", []string{"0 beta 5% medium-low", "1 alpha 95% medium-high"}},
		{"hntes-three-queue-scavenger", "paper 002, table II, (49,50,1); priorities of section III-D",
			[]string{"0 beta 50% medium-low", "1 alpha 49% medium-high", "2 scavenger 1% low"}},
		{"hntes-wred", "paper 002, table III, last row: (60,40)", []string{"0 beta 40% medium-low", "1 alpha 60% medium-high"}},
		{"geant-lbe-table1", "paper 004, table 1", []string{"0 be 5% low", "1 ef 90% low", "2 lbe 1% low", "3 nc 4% low"}},
		{"geant-lbe", "paper 004, table 2", []string{"0 be 5% high", "1 ef 90% high", "2 lbe 0% low", "3 nc 5% high"}},
	} {
		t.Run(c.table, func(t *testing.T) {
			if diff := cmp.Diff(queuesText(shipped(t, c.policy)), c.want); diff != "" {
				t.Errorf("queues (-got +want):\n%s", diff)
			}
		})
	}
}

// Paper 004, section 4.1: DSCP 46 is premium IP, 8 LBE, 48 and 56
// network control, any other best effort. RFC 8622 adds 1.
func TestGEANTsCodePointsLeadToGEANTsQueues(t *testing.T) {
	want := map[document.DSCP]string{46: "ef", 8: "lbe", 1: "lbe", 48: "nc", 56: "nc"}
	for _, name := range []string{"geant-lbe", "geant-lbe-table1"} {
		got := map[document.DSCP]string{}
		for _, c := range shipped(t, name).Classes {
			for _, m := range c.Match {
				for _, d := range m.DSCP {
					got[d] = c.Queue
				}
			}
		}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("%s (-got +want):\n%s", name, diff)
		}
	}
}

// Paper 002, section III-D: 1 Gbit/s and 31 KB, out-of-profile packets to the
// scavenger queue; section III-E: dropped at the rate of the queue's occupancy.
func TestTheAlphaPolicersAreThePapers(t *testing.T) {
	for _, c := range []struct {
		policy string
		exceed document.Action
	}{
		{"hntes-three-queue-scavenger", document.Action{Queue: "scavenger"}},
		{"hntes-wred", document.Action{LossPriority: document.LossHigh}},
	} {
		want := []document.Policer{{Name: "alpha-1g", Queue: "alpha", At: document.WhereEdge, Rate: 1e9, Burst: 31_000, Exceed: c.exceed}}
		if diff := cmp.Diff(shipped(t, c.policy).Policers, want); diff != "" {
			t.Errorf("%s (-got +want):\n%s", c.policy, diff)
		}
	}
	alpha, _ := ptr(shipped(t, "hntes-wred")).QueueByName("alpha")
	if diff := cmp.Diff(alpha.WRED, []document.DropProfile{{LossPriority: document.LossHigh, Min: 0, Max: 100, Probability: 100}}); diff != "" {
		t.Errorf("WRED (-got +want):\n%s", diff)
	}
}

func ptr[T any](v T) *T { return &v }

// The guard rails only stand where the papers found harm, so only the policies for study force one.
func TestOnlyThePoliciesForStudyCrossGuardRails(t *testing.T) {
	files, err := policies.Files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]document.Guard{}
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".yaml")
		p := shipped(t, name)
		if p.Name != name {
			t.Errorf("%s holds policy %s", f.Name(), p.Name)
		}
		for _, force := range p.Force {
			got[name] = append(got[name], force.Guard)
		}
	}
	want := map[string][]document.Guard{
		"hntes-three-queue-scavenger": {document.SplitsFlow}, "geant-lbe-table1": {document.LBEPriority},
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("forced guard rails (-got +want):\n%s", diff)
	}
}

// Every shipped policy has a golden case, and the overview names every one.
func TestEveryShippedPolicyHasAGoldenCase(t *testing.T) {
	cases := map[string]bool{}
	for _, name := range policytest.Names(t) {
		cases[policytest.Read(t, name).Policy.Name] = true
	}
	files, err := policies.Files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name := strings.TrimSuffix(f.Name(), ".yaml"); !cases[name] {
			t.Errorf("policy %s has no golden case", name)
		}
	}
}

// Words survive JSON, so that golden plans can be read.
func TestPlansPrintWords(t *testing.T) {
	raw, err := json.Marshal(shipped(t, "geant-lbe").Queues[2])
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(raw), `"Priority":"low"`) {
		t.Errorf("a queue prints as %s", raw)
	}
}
