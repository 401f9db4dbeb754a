package policy

import (
	"strings"
	"testing"

	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/policytest"
	"github.com/millrace/millrace/services/policy/render/openconfig"
)

func TestEntriesAreTheGoldenOnes(t *testing.T) {
	for _, name := range policytest.Names(t) {
		t.Run(name, func(t *testing.T) {
			result, err := compile.Compile(policytest.Read(t, name))
			if err != nil {
				t.Fatal(err)
			}
			for _, plan := range result.Plans {
				policytest.Compare(t, name, plan.Router+".entries", entriesText(t, plan))
			}
		})
	}
}

func entriesText(t *testing.T, plan compile.RouterPlan) string {
	t.Helper()
	list, err := openconfig.Entries(plan)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, u := range list {
		b.WriteString(u.Path + "\n" + u.Body + "\n\n")
	}
	return b.String()
}
