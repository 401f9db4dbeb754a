package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/junosconf"
	"github.com/millrace/millrace/internal/testkit/yangtest"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/policytest"
	"github.com/millrace/millrace/services/policy/render/junos"
)

// Every golden plan is said in Junos or refused, as before; what is said reads
// back as what was meant, and is valid by Juniper's YANG.
func TestJunosPlansAreTheGoldenOnes(t *testing.T) {
	var documents [][]byte
	for _, name := range policytest.Names(t) {
		result, err := compile.Compile(policytest.Read(t, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, plan := range result.Plans {
			golden := plan.Router + ".junos"
			tree, err := junos.Tree(plan)
			if err != nil {
				policytest.Compare(t, name, golden, "# "+strings.ReplaceAll(err.Error(), "\n", "\n# ")+"\n")
				continue
			}
			policytest.Compare(t, name, golden, tree.Text())
			for what, text := range map[string]string{"text": tree.Text(), "set lines": tree.SetLines()} {
				again, err := junosconf.Parse(text)
				if err != nil {
					t.Fatalf("%s/%s: %s: %v", name, plan.Router, what, err)
				}
				if diff := cmp.Diff(again.Text(), tree.Text()); diff != "" {
					t.Errorf("%s/%s: %s (-read back +meant):\n%s", name, plan.Router, what, diff)
				}
			}
			raw, err := tree.JSON()
			if err != nil {
				t.Fatal(err)
			}
			documents = append(documents, raw)
		}
	}
	if out, err := yangtest.Lint(t, yangtest.Modules(t), documents...); err != nil {
		t.Errorf("yanglint: %v\n%s", err, out)
	}
}

// The check above can fail: Juniper's YANG knows ranges and names.
func TestJunipersYANGCatchesMistakes(t *testing.T) {
	dir := yangtest.Modules(t)
	for what, statement := range map[string]string{
		"a weight of 0":   "set groups g class-of-service schedulers s transmit-rate percent 0",
		"a loss priority": "set groups g firewall policer p then loss-priority purple",
		"a buffer":        "set groups g class-of-service schedulers s buffer-size percent 101",
	} {
		tree, err := junosconf.Parse(statement)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := tree.JSON()
		if err != nil {
			t.Fatal(err)
		}
		if out, err := yangtest.LintWith(t, dir, []string{"root", "class-of-service", "firewall"}, raw); err == nil {
			t.Errorf("%s: accepted\n%s", what, out)
		}
	}
}
