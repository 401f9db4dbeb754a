package policy

import (
	"net/netip"
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
	var trees []*junosconf.Tree
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
			trees = append(trees, tree)
		}
	}
	mustBeValid(t, trees)
}

// mustBeValid has Juniper's YANG look at configurations.
func mustBeValid(t *testing.T, trees []*junosconf.Tree) {
	t.Helper()
	var documents [][]byte
	for _, tree := range trees {
		raw, err := tree.JSON()
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, raw)
	}
	if out, err := yangtest.Lint(t, yangtest.Modules(t), documents...); err != nil {
		t.Errorf("yanglint: %v\n%s", err, out)
	}
}

// portCircuits are two circuits between ports of wr and er, over cr and straight back: VLAN 100 to VLAN 300, and frames
// without a tag to VLAN 7.
func portCircuits() []compile.Circuit {
	end := func(port string, vlan int, last byte) compile.End {
		return compile.End{Port: port, VLAN: vlan, Address: netip.AddrFrom4([4]byte{198, 18, 0, last})}
	}
	over := compile.Path{
		Nodes: []string{"wr", "cr", "er"}, Links: []string{"10.255.0.1|10.0.13.1", "10.255.0.3|10.0.23.1"},
		Segments: []netip.Addr{netip.MustParseAddr("10.255.0.3"), netip.MustParseAddr("10.255.0.2")},
	}
	back := compile.Path{Nodes: []string{"er", "wr"}, Links: []string{"10.255.0.2|10.0.12.2"}, Segments: []netip.Addr{netip.MustParseAddr("10.255.0.1")}}
	return []compile.Circuit{
		{ID: "l2-untagged", Rate: 5e6, Path: over, Ports: &compile.PortPair{Number: 2, Frames: compile.FramesMPLS, From: end("ge-wa", 0, 4), To: end("ge-e1", 7, 5), Back: back}},
		{ID: "l2-vlan", Rate: 20e6, Path: over, Ports: &compile.PortPair{Number: 1, Frames: compile.FramesMPLS, From: end("ge-w1", 100, 2), To: end("ge-e1", 300, 3), Back: back}},
	}
}

func TestCircuitsBetweenPortsOfJunosAreTheGoldenOnes(t *testing.T) {
	in := policytest.Read(t, "circuits-two-queue")
	in.Circuits = portCircuits()
	result, err := compile.Compile(in)
	if err != nil || len(result.Plans) != 3 || len(result.Refused) > 0 {
		t.Fatalf("%d plans, error %v, refused %v", len(result.Plans), err, result.Refused)
	}
	var trees []*junosconf.Tree
	for _, plan := range result.Plans {
		tree, err := junos.Tree(plan)
		if err != nil {
			t.Fatal(err)
		}
		policytest.Compare(t, "circuits-between-ports", plan.Router+".junos", tree.Text())
		trees = append(trees, tree)
	}
	mustBeValid(t, trees)
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
