package intent

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/services/routeragent/kernel"
)

// profile is a policer of rules in the configuration.
const profile = `{"name":"te-profile-c1","config":{"name":"te-profile-c1"},"schedulers":{"scheduler":[{"sequence":1,"config":{"sequence":1,"type":"ONE_RATE_TWO_COLOR"},` +
	`"one-rate-two-color":{"config":{"cir":"8000000","bc":131072,"queuing-behavior":"POLICE"},"exceed-action":{"config":{"drop":true}}}}]}}`

// named is the configuration with a rule that names a policer, changed.
func named(change ...string) []string {
	text := profile
	for i := 0; i < len(change); i += 2 {
		text = strings.ReplaceAll(text, change[i], change[i+1])
	}
	return []string{`"scheduler-policy":[`, `"scheduler-policy":[` + text + ",", `"path-selection-group":"te-7"`, `"path-selection-group":"te-7","te-qos-ext:policer":"te-profile-c1"`}
}

func TestARuleNamesAPolicer(t *testing.T) {
	got, err := Compile(config(t, named()...), hardware, IDs{Policers: map[string]int{"gone": 1}})
	if err != nil {
		t.Fatal(err)
	}
	// Number 1 may still be in the kernel for what is gone.
	want := map[int]kernel.Policer{2: {Rate: 8e6, Burst: 131072, Exceed: kernel.Action{Drop: true}}}
	if diff := cmp.Diff(want, got.Kernel.RulePolicers); diff != "" {
		t.Errorf("policers (-want +got):\n%s", diff)
	}
	if n := got.RulePolicers[RuleID{"te-profile-c1", 1}]; n != 2 || len(got.RulePolicers) != 1 {
		t.Errorf("counters of policers: %v", got.RulePolicers)
	}
	for _, rules := range got.Kernel.Policies {
		for _, r := range rules {
			if r.Policer != 2 {
				t.Errorf("rule %+v has policer %d", r, r.Policer)
			}
		}
	}
}

// A policer that changes changes nothing of the rules, which are not read again.
func TestTheRateOfAPolicerChangesWithoutTheRules(t *testing.T) {
	var c Compiler
	first, err := c.Compile(config(t, named()...), hardware, IDs{})
	if err != nil {
		t.Fatal(err)
	}
	second, err := c.Compile(config(t, named(`"8000000"`, `"9000000"`)...), hardware, first.IDs)
	if err != nil || second.Kernel.RulePolicers[1].Rate != 9e6 {
		t.Fatalf("policers %+v (%v)", second.Kernel.RulePolicers, err)
	}
	if diff := cmp.Diff(first.IDs, second.IDs); diff != "" {
		t.Errorf("IDs (-before +after):\n%s", diff)
	}
}

func TestPolicersThatNoRuleCanHave(t *testing.T) {
	for name, c := range map[string]struct {
		replace []string
		path    string
	}{
		"a scheduler of queues": {[]string{`"path-selection-group":"te-7"`, `"path-selection-group":"te-7","te-qos-ext:policer":"te-2q"`}, "/action/config/policer"},
		"a percentage":          {named(`"cir":"8000000"`, `"cir-pct":10`), "/cir-pct"},
		"no burst":              {named(`"bc":131072,`, ``), "/bc"},
		"an input": {named(`"sequence":1,"config":{"sequence":1,`,
			`"sequence":1,"inputs":{"input":[{"id":"te-alpha","config":{"id":"te-alpha","input-type":"QUEUE","queue":"te-alpha"}}]},"config":{"sequence":1,`), "/inputs"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Compile(config(t, c.replace...), hardware, IDs{})
			var refused *Error
			if !errors.As(err, &refused) || !strings.Contains(refused.Path, c.path) {
				t.Errorf("error %v, want one of %s", err, c.path)
			}
		})
	}
}
