package pushtest

import "testing"

const policy = "/network-instances/network-instance[name=DEFAULT]/policy-forwarding/policies/policy[policy-id=te-ingress]"

// TestRulesAreEditedByThemselves: where a few rules of many differ, services/push sends those alone.
func TestRulesAreEditedByThemselves(t *testing.T) {
	entries := map[string]string{policy: `{"policy-id": "te-ingress", "rules": {"rule": [{"sequence-id": 7}, {"sequence-id": 4000000001}]}}`}
	for _, set := range []struct{ rule, body string }{
		{"[sequence-id=9]", `{"sequence-id": 9, "config": {"sequence-id": 9}}`},
		{"[sequence-id=4000000001]", `{"sequence-id": 4000000001, "config": {"sequence-id": 4000000001}}`},
		{"[sequence-id=7]", ""},
	} {
		if err := edit(entries, policy+"/rules/rule"+set.rule, set.body); err != nil {
			t.Fatal(err)
		}
	}
	want := `{
  "policy-id": "te-ingress",
  "rules": {
    "rule": [
      {
        "config": {
          "sequence-id": 9
        },
        "sequence-id": 9
      },
      {
        "config": {
          "sequence-id": 4000000001
        },
        "sequence-id": 4000000001
      }
    ]
  }
}`
	if len(entries) != 1 || entries[policy] != want {
		t.Errorf("the router holds %v, want one policy\n%s", entries, want)
	}
	if err := edit(entries, policy+"/rules/rule[sequence-id=9]", ""); err != nil {
		t.Fatal(err)
	}
	if err := edit(entries, policy, ""); err != nil || len(entries) != 0 {
		t.Errorf("after its deletion the router holds %v (%v)", entries, err)
	}
	if err := edit(entries, policy+"/rules/rule[sequence-id=9]", `{"sequence-id": 9}`); err == nil {
		t.Error("a rule of a policy that is not there was taken")
	}
}
