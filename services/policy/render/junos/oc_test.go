package junos

import (
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
	"github.com/millrace/millrace/services/policy/policytest"
)

func TestWhatOpenConfigSaysOnJunos(t *testing.T) {
	scheduler := configentry.SchedulerPolicy.Path("te-p")
	lbe := compile.Rule{Class: "lbe", Queue: "beta", Match: compile.Match{DSCPs: []document.DSCP{8, 1}}}
	for _, c := range []struct {
		name string
		plan compile.RouterPlan
		// said are paths of entries, left are beginnings of lines.
		said, left []string
	}{
		{"weights of one priority", plan(), []string{scheduler, configentry.Queue.Path("te-alpha"), configentry.ForwardingGroup.Path("te-beta"), configentry.QosInterface.Path("xe-0/0/1.0")}, nil},
		{"priorities are our own words", plan(beta(func(q *document.Queue) { q.Priority = 4 })), []string{configentry.Queue.Path("te-alpha")},
			[]string{scheduler + ": /qos/scheduler-policies/scheduler-policy/schedulers/scheduler/config/te-qos-ext:priority-level: extension"}},
		{"equal excess is our own word", plan(scheduling(document.Scheduling{Excess: document.ExcessEqual})), nil, []string{scheduler + ": "}},
		{"a weight of 0", plan(alpha(func(q *document.Queue) { q.Weight = 0 })), nil, []string{scheduler + ": " + policytest.WeightPath + ": Junos has no weight of 0"}},
		{"classes by DSCP", plan(filter("edge", lbe)), []string{configentry.Classifier.Path("te-edge-4"), configentry.Classifier.Path("te-edge-6"), configentry.QosInterface.Path("xe-0/0/2.10")}, nil},
		{"policers", plan(filter("edge", lbe), policerOf(document.Policer{Queue: "beta", Exceed: document.Action{Drop: true}})), nil, []string{"/qos/scheduler-policies/scheduler-policy[name=te-police-1]: "}},
		{"a redirect", plan(lsp, filter("ingress", compile.Rule{Pair: "7", Queue: "alpha", LSP: "te-l", Match: compile.Match{Src: src, Dst: dst}})), []string{configentry.ExplicitPath.Path("te-l")},
			[]string{configentry.Tunnel.Path("te-l") + ": ", configentry.ForwardingPolicy.Path("te-ingress") + ": version", configentry.PathSelectionGroup.Path("te-l") + ": deviation"}},
		{"RED", plan(alpha(func(q *document.Queue) { q.RED = &document.DropProfile{Min: 20, Max: 80, Probability: 10} })), []string{"/qos/queue-management-profiles/queue-management-profile[name=te-p-alpha]"}, nil},
		{"WRED", plan(alpha(func(q *document.Queue) { q.WRED = []document.DropProfile{{Min: 20, Max: 80, Probability: 10}} })), nil, []string{"/qos/queue-management-profiles/queue-management-profile[name=te-p-alpha]: "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			entries, left, err := policytest.JunosOpenConfig(c.plan)
			if err != nil {
				t.Fatal(err)
			}
			said, all := map[string]bool{}, strings.Join(left, "\n")
			for _, u := range entries {
				said[u.Path] = true
				if strings.Contains(u.Body, "te-qos-ext") || all != "" && strings.Contains(u.Body, "te-police") {
					t.Errorf("%s says what Junos does not know:\n%s", u.Path, u.Body)
				}
			}
			for _, path := range c.said {
				if !said[path] {
					t.Errorf("%s is not said; left:\n%s", path, all)
				}
			}
			for _, line := range c.left {
				if !strings.Contains("\n"+all, "\n"+line) {
					t.Errorf("no %q in what is left:\n%s", line, all)
				}
			}
		})
	}
}
