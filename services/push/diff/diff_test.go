package diff

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/configentry"
)

var (
	queue  = configentry.Queue.Path("te-alpha")
	group  = configentry.ForwardingGroup.Path("te-alpha")
	policy = configentry.ForwardingPolicy.Path("te-ingress")
	tunnel = configentry.Tunnel.Path("te-lsp-a")
)

func change(path, before, after string) Change {
	return Change{Path: path, Encoding: configentry.JSONIETF, Before: before, After: after}
}

func TestNoReferenceDanglesInTheOrderOfChanges(t *testing.T) {
	for name, tc := range map[string]struct {
		running, intended map[string]string
		want              []Change
	}{
		"nothing changes": {
			map[string]string{queue: `{"a": 1}`}, map[string]string{queue: `{"a": 1}`}, nil,
		},
		"another spelling of an identity is no change": {
			map[string]string{tunnel: `{"type": "P2P"}`}, map[string]string{tunnel: `{"type": "openconfig-mpls-types:P2P"}`}, nil,
		},
		"what is referred to is written first": {
			nil, map[string]string{policy: `{}`, queue: `{}`, group: `{}`, tunnel: `{}`},
			[]Change{change(queue, "", `{}`), change(group, "", `{}`), change(tunnel, "", `{}`), change(policy, "", `{}`)},
		},
		"what refers is deleted first": {
			map[string]string{policy: `{}`, queue: `{}`, group: `{}`, tunnel: `{}`}, nil,
			[]Change{change(policy, `{}`, ""), change(tunnel, `{}`, ""), change(group, `{}`, ""), change(queue, `{}`, "")},
		},
		"a rule leaves an LSP before the LSP goes": {
			map[string]string{policy: `{"lsp": "a"}`, tunnel: `{}`}, map[string]string{policy: `{"lsp": "b"}`},
			[]Change{change(policy, `{"lsp": "a"}`, `{"lsp": "b"}`), change(tunnel, `{}`, "")},
		},
		"a queue is there before the filter that another one replaces goes": {
			map[string]string{policy: `{}`}, map[string]string{queue: `{}`},
			[]Change{change(queue, "", `{}`), change(policy, `{}`, "")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(Of(configentry.JSONIETF, tc.running, tc.intended), tc.want); diff != "" {
				t.Errorf("changes (-got +want):\n%s", diff)
			}
		})
	}
}

// Applying a diff gives the intended entries; applying its reverse gives the old ones.
func TestReverseUndoesADiff(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for range 500 {
		running, intended := randomEntries(random), randomEntries(random)
		changes := Of(configentry.JSONIETF, running, intended)
		got := apply(running, changes)
		if diff := cmp.Diff(got, intended); diff != "" {
			t.Fatalf("there (-got +want):\n%s", diff)
		}
		if left := Mismatches(got, changes, After); left != nil {
			t.Fatalf("Mismatches finds %v", left)
		}
		if diff := cmp.Diff(apply(got, Reverse(changes)), running); diff != "" {
			t.Fatalf("back (-got +want):\n%s", diff)
		}
	}
}

// A rollback keeps the order: it writes first and deletes last, so that nothing that is still in use goes.
func TestARollbackWritesBeforeItDeletes(t *testing.T) {
	got := Reverse([]Change{change(queue, "", `{}`), change(group, `{"a": 1}`, `{"a": 2}`), change(tunnel, `{}`, ""), change(policy, `{}`, "")})
	want := []Change{change(group, `{"a": 2}`, `{"a": 1}`), change(tunnel, "", `{}`), change(policy, "", `{}`), change(queue, `{}`, "")}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("changes (-got +want):\n%s", diff)
	}
}

func randomEntries(r *rand.Rand) map[string]string {
	out := map[string]string{}
	for _, k := range configentry.Kinds {
		for i := range 3 {
			if r.IntN(2) == 0 {
				out[k.Path(fmt.Sprintf("te-%d", i))] = fmt.Sprintf(`{"v": %d}`, r.IntN(3))
			}
		}
	}
	return out
}

func apply(entries map[string]string, changes []Change) map[string]string {
	out := maps.Clone(entries)
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
		change(queue, "{\n  \"queue-id\": 1\n}", "{\n  \"queue-id\": 2\n}"),
		change(group, "", "{\n  \"name\": \"te-alpha\"\n}"),
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
