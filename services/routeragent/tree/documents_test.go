package tree

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// documents are configurations that the product writes, and one of the agent's own tests, by file.
func documents(t *testing.T) map[string]*Node {
	t.Helper()
	out := map[string]*Node{}
	files, err := filepath.Glob("../../../policies/golden/*/*.entries")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d golden files (%v)", len(files), err)
	}
	for _, f := range append(files, "../testdata/hntes.json") {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		n := New()
		for text := string(raw); strings.TrimSpace(text) != ""; {
			to := Path{}
			if line, rest, found := strings.Cut(strings.TrimSpace(text), "\n"); found && strings.HasPrefix(line, "/") {
				to, text = path(t, line), rest
			}
			d := json.NewDecoder(strings.NewReader(text))
			d.UseNumber()
			var v any
			if err := d.Decode(&v); err != nil {
				t.Fatalf("%s: %v", f, err)
			}
			if err := n.Update(to, v); err != nil {
				t.Fatalf("%s: %v", f, err)
			}
			text = text[d.InputOffset():]
		}
		out[filepath.ToSlash(strings.TrimPrefix(f, "../../../policies/golden/"))] = n
	}
	return out
}

// linked are the interfaces that a document refers to, which a router has without configuration.
func linked(n *Node) []string {
	var out []string
	Match{Node: n}.Leaves(func(m Match) {
		if strings.HasSuffix(m.Node.Schema.Path(), "/interface-ref/config/interface") {
			out = append(out, text(m.Node.Value))
		}
	})
	return out
}

func TestDocumentsOfTheProductAreJudgedAsYgotJudgesThem(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	accepted, refused := 0, 0
	docs := documents(t)
	for _, name := range slices.Sorted(maps.Keys(docs)) {
		n := docs[name]
		t.Run(name, func(t *testing.T) {
			interfaces := linked(n)
			judged, err := n.judgeWhole(interfaces)
			if err != nil {
				t.Fatalf("ygot: %v", err)
			}
			if _, err := n.Judge(interfaces); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(ietfText(t, judged), ietfText(t, n)); diff != "" {
				t.Errorf("spelling (-ygot +tree):\n%s", diff)
			}
			for range 12 {
				if changeLeaf(t, r, n.clone(), interfaces) {
					accepted++
				} else {
					refused++
				}
			}
		})
	}
	if accepted < 10 || refused < 100 {
		t.Errorf("%d changes accepted, %d refused: they try too little", accepted, refused)
	}
}

// changeLeaf gives some leaf that is no key some value, and compares the two judges.
func changeLeaf(t *testing.T, r *rand.Rand, n *Node, interfaces []string) (accepted bool) {
	t.Helper()
	var leaves []Match
	Match{Node: n}.Leaves(func(m Match) {
		if s := m.Node.Schema; !s.IsKey() && !s.Parent.Parent.isKeyed(s.Name) {
			leaves = append(leaves, m)
		}
	})
	leaf := leaves[r.IntN(len(leaves))]
	s, values := leaf.Node.Schema, pool(leaf.Node.Schema)
	v := values[r.IntN(len(values))]
	if number, ok := v.(json.Number); ok && s.Type.Is64() {
		v = string(number) // ygot takes RFC 7951 only
	}
	if s.Kind == LeafList {
		v = []any{v}
	}
	leaf.Node.Value = v // the leaf is the clone's own
	written, err := leafValue(s, v)
	_, whole := n.judgeWhole(interfaces)
	if err == nil {
		leaf.Node.Value = written
		_, err = n.Judge(interfaces)
	}
	if (err == nil) != (whole == nil) {
		t.Errorf("%s = %v (%T): %v; ygot: %v", leaf.Path, v, v, err, whole)
	}
	return err == nil
}

// isKeyed is true for a list with a key of the name.
func (s *Schema) isKeyed(name string) bool {
	return s != nil && s.Children[name] != nil && s.Children[name].IsKey()
}
