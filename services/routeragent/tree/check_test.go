package tree

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/services/routeragent/model"
	"github.com/millrace/millrace/services/routeragent/octest"
)

// pool of values: some are good for each type, most are bad.
func pool(s *Schema) []any {
	out := []any{true, "", "x", "te-a", "true", "0", "1", "01", "-1", "+1", "18446744073709551615", "18446744073709551616", "1.5", "a:b", " 1",
		"10.0.0.1", "10.0.0.256", "10.0.0", "10.0.0.1/24", "10.0.0.1/33", "010.0.0.1/8", "2001:db8::1", "2001:db8::/32", "::1/129", "00:00:5e:00:53:01",
		"80..90", "65535..65536", "1..2..3", "0..0", "ANY", "openconfig-mpls-types:PATH_SETUP_SR", "PATH_SETUP_SR", "no-module:PATH_SETUP_SR", "65000:1", "10.0.0.1:1"}
	for _, n := range []string{"0", "1", "7", "63", "64", "255", "256", "1500", "65535", "65536", "4294967295", "4294967296", "-1", "-129", "2147483648", "1e2", "1.0", "1e30"} {
		out = append(out, json.Number(n))
	}
	for _, full := range words(s.Type) {
		bare := full[strings.Index(full, ":")+1:]
		out = append(out, bare, full, "zz:"+bare, bare+"x")
	}
	return out
}

// words of a type, and of the members of a union.
func words(t *model.Type) []string {
	out := t.Words
	for _, m := range t.Members {
		out = append(out, words(m)...)
	}
	return out
}

// good finds some value a leaf takes.
func good(t *testing.T, s *Schema) any {
	t.Helper()
	for _, v := range pool(s) {
		if v, err := s.check(v); err == nil && v != "" {
			return v
		}
	}
	t.Fatalf("no value for %s", s.Path())
	return nil
}

// holding is a device that holds one leaf, with the list entries it takes.
func holding(t *testing.T, s *Schema, v any) *Node {
	t.Helper()
	var up []*Schema
	for at := s; at.Parent != nil; at = at.Parent {
		up = append([]*Schema{at}, up...)
	}
	root := New()
	n := root
	for _, at := range up[:len(up)-1] {
		e := Elem{Schema: at, Keys: map[string]string{}}
		for _, k := range at.Keys {
			e.Keys[k] = canonicalKey(text(good(t, at.Children[k])))
		}
		var err error
		if n, err = n.descend(e); err != nil {
			t.Fatal(err)
		}
	}
	n.Members[s.Name] = &Node{Schema: s, Value: v}
	return root
}

// ygotSays is ygot's opinion of a value and its spelling of it.
func ygotSays(t *testing.T, s *Schema, v any) (any, error) {
	t.Helper()
	raw, ok := v, v
	if s.Kind == LeafList {
		raw = []any{v}
	}
	tree, _ := holding(t, s, raw).ietf("")
	text, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	d, err := octest.Judge(text)
	if err != nil {
		return nil, err
	}
	n, err := fromDevice(d)
	if err != nil {
		return nil, err
	}
	Match{Node: n}.Leaves(func(m Match) {
		if m.Node.Schema == s {
			ok = m.Node.Value
		}
	})
	if list, isList := ok.([]any); isList {
		ok = list[0]
	}
	return ok, nil
}

// TestValuesAreJudgedAsYgotJudgesThem tries every value of a pool on every leaf that can be configured.
func TestValuesAreJudgedAsYgotJudgesThem(t *testing.T) {
	leaves := 0
	var walk func(*Schema)
	walk = func(s *Schema) {
		for _, name := range s.names {
			if c := s.Children[name]; c.Config {
				walk(c)
			}
		}
		if s.Type == nil || s.IsKey() || !s.Config {
			return
		}
		if p := s.Parent.Parent; p != nil && p.Children[s.Name] != nil && p.Children[s.Name].IsKey() {
			return // the leaf behind a key: holding would write it twice
		}
		leaves++
		for _, v := range pool(s) {
			if x, ok := v.(json.Number); ok && s.Type.Is64() {
				v = string(x) // ygot takes RFC 7951 only
			}
			got, err := s.check(v)
			want, wantErr := ygotSays(t, s, v)
			if (err == nil) != (wantErr == nil) {
				t.Errorf("%s = %v (%T): %v; ygot: %v", s.Path(), v, v, err, wantErr)
				continue
			}
			if diff := cmp.Diff(want, got); err == nil && diff != "" {
				t.Errorf("%s = %v (-ygot +tree):\n%s", s.Path(), v, diff)
			}
		}
	}
	walk(Root())
	if leaves < 100 {
		t.Errorf("only %d leaves tried", leaves)
	}
}

// ygot cuts 1.5 down to 1; what is not a whole number is refused here.
func TestAFractionIsNoWholeNumber(t *testing.T) {
	s := path(t, "/qos/queues/queue[name=a]/config/queue-id").Schema()
	if v, err := s.check(json.Number("1.5")); err == nil {
		t.Errorf("1.5 is taken as %v", v)
	}
}
