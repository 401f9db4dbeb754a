package openconfig

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/services/push/diff"
	"github.com/millrace/millrace/services/routeragent/tree"
)

// policyOf is a policy whose rule n leads into the queue given.
func policyOf(t *testing.T, queues map[int]string) string {
	t.Helper()
	var rules []string
	for n, q := range queues {
		rules = append(rules, fmt.Sprintf(`{"sequence-id":%d,"config":{"sequence-id":%d},"action":{"forwarding":{"config":{"qos-forwarding-group":%q}}}}`, n, n, q))
	}
	entry, err := configentry.Canonical([]byte(`{"policy-id":"te-in","config":{"policy-id":"te-in","type":"MATCH_ACTION_POLICY"},"rules":{"rule":[` + strings.Join(rules, ",") + `]}}`))
	if err != nil {
		t.Fatal(err)
	}
	return entry
}

// perform does to a tree what a target does with a Set.
func perform(t *testing.T, n *tree.Node, req *gnmi.SetRequest) {
	t.Helper()
	for _, p := range req.GetDelete() {
		at, err := tree.Resolve(nil, p)
		if err == nil {
			err = n.Delete(at)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, u := range req.GetReplace() {
		at, err := tree.Resolve(nil, u.GetPath())
		if err != nil {
			t.Fatal(err)
		}
		v, err := tree.Value(u.GetVal())
		if err == nil {
			err = n.Replace(at, v)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func asJSON(n *tree.Node) string {
	raw, _ := n.AppendJSON(nil, tree.All)
	return string(raw)
}

// Whether a policy is replaced or edited, the router holds the same in the end.
func TestEditsLeadWhereAReplaceLeads(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	path := configentry.ForwardingPolicy.Path("te-in")
	edited := 0
	for range 300 {
		before, after := map[int]string{}, map[int]string{}
		for n := range 40 {
			before[n+1] = "te-a"
			after[n+1] = "te-a"
			switch random.IntN(12) {
			case 0:
				delete(before, n+1)
			case 1:
				delete(after, n+1)
			case 2:
				after[n+1] = "te-b"
			}
		}
		change := diff.Change{Path: path, Before: policyOf(t, before), After: policyOf(t, after)}
		start, whole, parts := &gnmi.SetRequest{}, &gnmi.SetRequest{}, &gnmi.SetRequest{}
		for _, s := range []struct {
			req *gnmi.SetRequest
			c   diff.Change
		}{{start, diff.Change{Path: path, After: change.Before}}, {whole, diff.Change{Path: path, After: change.After}}, {parts, change}} {
			if err := addChange(s.req, s.c); err != nil {
				t.Fatal(err)
			}
		}
		if len(parts.GetReplace())+len(parts.GetDelete()) > 1 {
			edited++
		}
		want, got := tree.New(), tree.New()
		perform(t, got, start)
		perform(t, want, whole)
		perform(t, got, parts)
		if asJSON(got) != asJSON(want) {
			t.Fatalf("from %v to %v: edits %v lead to\n%s, a replace to\n%s", before, after, parts, asJSON(got), asJSON(want))
		}
	}
	if edited < 200 {
		t.Errorf("only %d of 300 changes were edits", edited)
	}
}

// A nightly run's change: 200 of 20,000 pairs have another queue.
func TestTheWireCarriesTheRulesThatChanged(t *testing.T) {
	before, after := map[int]string{}, map[int]string{}
	for n := range 20_000 {
		before[n+1], after[n+1] = "te-a", "te-a"
		if n%100 == 0 {
			after[n+1] = "te-b"
		}
	}
	path := configentry.ForwardingPolicy.Path("te-in")
	changes := diff.Of(configentry.JSONIETF, map[string]string{path: policyOf(t, before)}, map[string]string{path: policyOf(t, after)})
	whole, parts := &gnmi.SetRequest{}, &gnmi.SetRequest{}
	for _, c := range changes {
		if err := addChange(parts, c); err != nil {
			t.Fatal(err)
		}
		c.Before = ""
		if err := addChange(whole, c); err != nil {
			t.Fatal(err)
		}
	}
	if len(parts.GetReplace()) != 200 || len(parts.GetDelete()) != 0 {
		t.Errorf("%d replaces and %d deletes, want 200 and 0", len(parts.GetReplace()), len(parts.GetDelete()))
	}
	if proto.Size(parts)*20 > proto.Size(whole) {
		t.Errorf("%d octets for 200 of 20,000 rules, whole %d", proto.Size(parts), proto.Size(whole))
	}
}
