package diff

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/ocunit"
)

var (
	queue  = ocunit.Queue.Path("te-alpha")
	group  = ocunit.ForwardingGroup.Path("te-alpha")
	policy = ocunit.ForwardingPolicy.Path("te-ingress")
	tunnel = ocunit.Tunnel.Path("te-lsp-a")
)

func TestChangesComeInAnOrderInWhichReferencesHold(t *testing.T) {
	for name, tc := range map[string]struct {
		current, desired map[string]string
		want             []Change
	}{
		"nothing changes": {
			map[string]string{queue: `{"a": 1}`}, map[string]string{queue: `{"a": 1}`}, nil,
		},
		"another spelling of an identity is no change": {
			map[string]string{tunnel: `{"type": "P2P"}`}, map[string]string{tunnel: `{"type": "openconfig-mpls-types:P2P"}`}, nil,
		},
		"what is referred to is written first": {
			nil, map[string]string{policy: `{}`, queue: `{}`, group: `{}`, tunnel: `{}`},
			[]Change{{queue, "", `{}`}, {group, "", `{}`}, {tunnel, "", `{}`}, {policy, "", `{}`}},
		},
		"what refers is deleted first": {
			map[string]string{policy: `{}`, queue: `{}`, group: `{}`, tunnel: `{}`}, nil,
			[]Change{{policy, `{}`, ""}, {tunnel, `{}`, ""}, {group, `{}`, ""}, {queue, `{}`, ""}},
		},
		"a rule leaves an LSP before the LSP goes": {
			map[string]string{policy: `{"lsp": "a"}`, tunnel: `{}`}, map[string]string{policy: `{"lsp": "b"}`},
			[]Change{{policy, `{"lsp": "a"}`, `{"lsp": "b"}`}, {tunnel, `{}`, ""}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(Of(tc.current, tc.desired), tc.want); diff != "" {
				t.Errorf("changes (-got +want):\n%s", diff)
			}
		})
	}
}

// Applying a diff gives the desired units; applying its reverse gives the old ones.
func TestDiffsLeadThereAndBack(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for range 500 {
		current, desired := randomUnits(random), randomUnits(random)
		changes := Of(current, desired)
		got := apply(current, changes)
		if diff := cmp.Diff(got, desired); diff != "" {
			t.Fatalf("there (-got +want):\n%s", diff)
		}
		if left := Holds(got, changes, After); left != nil {
			t.Fatalf("Holds misses %v", left)
		}
		if diff := cmp.Diff(apply(got, Reverse(changes)), current); diff != "" {
			t.Fatalf("back (-got +want):\n%s", diff)
		}
	}
}

func randomUnits(r *rand.Rand) map[string]string {
	out := map[string]string{}
	for _, k := range ocunit.Kinds {
		for i := range 3 {
			if r.IntN(2) == 0 {
				out[k.Path(fmt.Sprintf("te-%d", i))] = fmt.Sprintf(`{"v": %d}`, r.IntN(3))
			}
		}
	}
	return out
}

func apply(units map[string]string, changes []Change) map[string]string {
	out := maps.Clone(units)
	for _, c := range changes {
		if c.After == "" {
			delete(out, c.Path)
		} else {
			out[c.Path] = c.After
		}
	}
	return out
}

func TestTheTextIsAUnifiedDiffPerUnit(t *testing.T) {
	got := Text([]Change{
		{queue, "{\n  \"queue-id\": 1\n}", "{\n  \"queue-id\": 2\n}"},
		{group, "", "{\n  \"name\": \"te-alpha\"\n}"},
	})
	want := `--- /qos/queues/queue[name=te-alpha]
+++ /qos/queues/queue[name=te-alpha]
@@ -1,3 +1,3 @@
 {
-  "queue-id": 1
+  "queue-id": 2
 }
--- /dev/null
+++ /qos/forwarding-groups/forwarding-group[name=te-alpha]
@@ -0,0 +1,3 @@
+{
+  "name": "te-alpha"
+}
`
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("text (-got +want):\n%s", diff)
	}
}
