package intent

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/ygot/ygot"

	"github.com/millrace/millrace/services/routeragent/tree"
)

const (
	instance = "/network-instances/network-instance[name=DEFAULT]"
	rules    = instance + "/policy-forwarding/policies/policy[policy-id=te-in]/rules/rule[sequence-id=%d]"
)

// alterations are edits of the HNTES configuration; %d is a small number.
var alterations = []struct{ path, value string }{
	{"/qos/scheduler-policies/scheduler-policy[name=te-2q]/schedulers/scheduler[sequence=1]/inputs/input[id=te-alpha]/config/weight", "1%d"},
	{"/qos/buffer-allocation-profiles/buffer-allocation-profile[name=te-2q]/queues/queue[name=te-alpha]/config/dedicated-buffer", "5000%d"},
	{"/qos/queues/queue[name=te-q%d]/config/name", "te-q%d"},
	{"/qos/forwarding-groups/forwarding-group[name=te-alpha]/config/output-queue", "te-q%d"},
	{rules + "/ipv4/config/source-address", "10.7.%d.0/24"},
	{rules + "/action/forwarding/config/qos-forwarding-group", "te-alpha"},
	{rules + "/action/forwarding/config/forwarding-action", "openconfig-policy-forwarding:FORWARD"},
	{"/defined-sets/ipv4-prefix-sets/ipv4-prefix-set[name=te-src-7]/config/prefix", "10.9.%d.0/24"},
	{instance + "/mpls/lsps/constrained-path/tunnels/tunnel[name=te-lsp-7]/config/description", "%d"},
	{"/qos/interfaces/interface[interface-id=ge-b]/output/config/buffer-allocation-profile", "te-2q"},
	{"/qos/interfaces/interface[interface-id=ge-b]", ""}, // delete
	{"/qos/interfaces/interface[interface-id=ge-b]/output/scheduler-policy/config/name", "te-2q"},
	{rules, ""},
}

func alter(t *testing.T, n *tree.Node, path, value string) {
	t.Helper()
	gp, err := ygot.StringToStructuredPath(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := tree.Resolve(nil, gp)
	if err == nil && value == "" {
		err = n.Delete(p)
	} else if err == nil {
		err = n.Update(p, value)
	}
	if err != nil {
		t.Fatalf("%s %s: %v", path, value, err)
	}
}

// TestACompilerWithAMemoryCompilesTheSame compares plans along random edits, some of which are refused or undone.
func TestACompilerWithAMemoryCompilesTheSame(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 9))
	running, remembers, ids := config(t), new(Compiler), IDs{}
	taken := 0
	for range 2000 {
		next := running.Fork()
		for range 1 + random.IntN(2) {
			a := alterations[random.IntN(len(alterations))]
			number := strconv.Itoa(random.IntN(4) + 8)
			alter(t, next, strings.ReplaceAll(a.path, "%d", number), strings.ReplaceAll(a.value, "%d", number))
		}
		got, gotErr := remembers.Compile(next, hardware, ids)
		want, wantErr := Compile(next, hardware, ids)
		if (gotErr == nil) != (wantErr == nil) {
			t.Fatalf("with a memory: %v, without: %v", gotErr, wantErr)
		}
		if diff := cmp.Diff(want, got, comparers); gotErr == nil && diff != "" {
			t.Fatalf("plan (-without memory +with):\n%s", diff)
		}
		if gotErr == nil && random.IntN(5) > 0 {
			running, ids = next, got.IDs
			taken++
		}
	}
	if taken < 500 {
		t.Errorf("only %d plans", taken)
	}
}
