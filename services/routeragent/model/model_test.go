package model_test

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/goyang/pkg/yang"
	"github.com/openconfig/ygot/util"
	"github.com/openconfig/ygot/ygot"

	"github.com/millrace/millrace/services/routeragent/model"
	"github.com/millrace/millrace/services/routeragent/octest"
)

// field is what ygot says about a node: a field of one of its structs and the YANG it was made of.
type field struct {
	reflect.StructField
	*yang.Entry
}

// fields of all structs by their schema paths.
func fields(t *testing.T) map[string]field {
	t.Helper()
	out := map[string]field{}
	var walk func(path string, s reflect.Type, e *yang.Entry)
	walk = func(path string, s reflect.Type, e *yang.Entry) {
		for i := range s.NumField() {
			f := s.Field(i)
			name := f.Tag.Get("path")
			child := e.Dir[name]
			if child == nil {
				t.Fatalf("%s/%s is in the structs and not in the schema", path, name)
			}
			out[path+"/"+name] = field{f, child}
			switch {
			case f.Type.Kind() == reflect.Map:
				walk(path+"/"+name, f.Type.Elem().Elem(), child)
			case f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct:
				walk(path+"/"+name, f.Type.Elem(), child)
			}
		}
	}
	walk("", reflect.TypeOf(octest.Device{}), octest.SchemaTree["Device"])
	return out
}

func TestTheTableHasTheNodesOfYgotsStructs(t *testing.T) {
	want := slices.Sorted(maps.Keys(fields(t)))
	var got []string
	for _, n := range model.Nodes {
		got = append(got, n.Path)
	}
	if !slices.IsSortedFunc(got, func(a, b string) int { return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/")) }) {
		t.Error("the table is not in the order of the tree")
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" || len(got) < 1000 {
		t.Errorf("%d nodes (-ygot +table):\n%s", len(got), diff)
	}
}

// plain is a row in words that ygot's side can be put into as well.
type plain struct{ Kind, Module, Config, Keys, Refers, Default string }

func TestNodesAreWhatYgotSaysTheyAre(t *testing.T) {
	all := fields(t)
	for _, n := range model.Nodes {
		got := plain{Module: n.Module, Config: fmt.Sprint(!n.State), Keys: n.Keys, Refers: n.Refers, Default: n.Default[strings.Index(n.Default, ":")+1:]}
		got.Kind = map[model.Kind]string{model.Container: "container", model.List: "list", model.Leaf: "leaf", model.LeafList: "leaf-list"}[n.Kind]
		if diff := cmp.Diff(all[n.Path].plain(all, n.Path), got); diff != "" {
			t.Errorf("%s (-ygot +table):\n%s", n.Path, diff)
		}
	}
}

func (f field) plain(all map[string]field, path string) plain {
	modules := strings.Split(f.Tag.Get("module"), "/")
	out := plain{Module: modules[len(modules)-1], Config: fmt.Sprint(!f.ReadOnly())}
	if f.IsList() {
		out.Keys = f.Key
	}
	if d := f.DefaultValues(); len(d) > 0 {
		out.Default = d[0][strings.Index(d[0], ":")+1:]
	}
	switch {
	case f.IsLeafList():
		out.Kind = "leaf-list"
	case f.IsLeaf():
		out.Kind = "leaf"
	case f.IsList():
		out.Kind = "list"
	default:
		out.Kind = "container"
	}
	if f.Entry.Type != nil && f.Entry.Type.Kind == yang.Yleafref {
		out.Refers = referred(path, f.Entry.Type.Path)
		if _, ok := all[out.Refers]; !ok {
			out.Refers = "nothing: " + out.Refers
		}
	}
	return out
}

var notNames = regexp.MustCompile(`\[[^\]]*\]|[a-z-]+:`)

// referred is the schema path to which a leafref leads from a leaf, step by step.
func referred(from, leafref string) string {
	to := strings.Split(notNames.ReplaceAllString(leafref, ""), "/")
	if to[0] == "" {
		return strings.Join(to, "/")
	}
	at := strings.Split(from, "/")
	for len(to) > 0 && to[0] == ".." {
		at, to = at[:len(at)-1], to[1:]
	}
	return strings.Join(append(at, to...), "/")
}

func TestTypesAreWhatYgotSaysTheyAre(t *testing.T) {
	all := fields(t)
	byPath := map[string]model.Node{}
	for _, n := range model.Nodes {
		byPath[n.Path] = n
	}
	seen := map[model.TypeKind]int{}
	for _, n := range model.Nodes {
		f := all[n.Path]
		if f.Entry.Type == nil {
			if n.Type != nil {
				t.Errorf("%s has a type and is no leaf", n.Path)
			}
			continue
		}
		seen[n.Type.Kind]++
		if n.Refers != "" {
			if to := byPath[n.Refers]; to.Type != n.Type {
				t.Errorf("%s has the type %s, and %s, to which it refers, %s", n.Path, n.Type.Name, to.Path, to.Type.Name)
			}
			continue
		}
		if diff := cmp.Diff(describeYang(f, f.Entry.Type), describe(n.Type)); diff != "" {
			t.Errorf("%s (-ygot +table):\n%s", n.Path, diff)
		}
	}
	if len(seen) < 8 {
		t.Errorf("only types of %d kinds are compared", len(seen))
	}
}

// describe lists what a type restricts; a union has a line for each member, in no order.
func describe(t *model.Type) []string {
	if t.Kind == model.Union {
		var out []string
		for _, m := range t.Members {
			out = append(out, describe(m)...)
		}
		return slices.Sorted(slices.Values(out))
	}
	kind := []string{"boolean", "string", "integer", "integer64", "decimal64", "enumeration", "identityref"}[t.Kind]
	words := slices.Clone(t.Words)
	return []string{fmt.Sprintf("%s %s range %s length %s patterns %q words %q", kind, t.Name, t.Range, t.Length, t.Patterns, slices.Sorted(slices.Values(words)))}
}

func describeYang(f field, t *yang.YangType) []string {
	if t.Kind == yang.Yunion {
		var out []string
		for _, m := range t.Type {
			out = append(out, describeYang(f, m)...)
		}
		return slices.Sorted(slices.Values(out))
	}
	kind, name, ranges, words := t.Kind.String(), t.Name, t.Range.String(), []string(nil)
	switch t.Kind {
	case yang.Yint8, yang.Yint16, yang.Yint32, yang.Yuint8, yang.Yuint16, yang.Yuint32:
		kind = "integer"
	case yang.Yint64, yang.Yuint64:
		kind = "integer64"
	case yang.Ydecimal64:
		ranges = ""
	case yang.Yenum, yang.Yidentityref:
		words = enumWords(f, t)
	}
	if t.Kind == yang.Yidentityref {
		name = t.IdentityBase.Name
	}
	patterns, _ := util.SanitizedPattern(t)
	return []string{fmt.Sprintf("%s %s range %s length %s patterns %q words %q", kind, name[strings.Index(name, ":")+1:], ranges, t.Length, patterns, words)}
}

// enumWords are the words of the Go enumeration that a field holds, or that one of the types of a union is.
func enumWords(f field, t *yang.YangType) []string {
	var out []string
	for _, e := range goEnums(f) {
		definitions := e.ΛMap()[reflect.TypeOf(e).Name()]
		var names []string
		for _, d := range definitions {
			if d.DefiningModule != "" {
				names = append(names, d.DefiningModule+":"+d.Name)
			} else {
				names = append(names, d.Name)
			}
		}
		if (t.Kind == yang.Yidentityref) == strings.Contains(names[0], ":") {
			out = append(out, names...)
		}
	}
	return slices.Sorted(slices.Values(out))
}

func goEnums(f field) []ygot.GoEnum {
	typ := f.StructField.Type
	if typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	if e, ok := reflect.Zero(typ).Interface().(ygot.GoEnum); ok {
		return []ygot.GoEnum{e}
	}
	var out []ygot.GoEnum
	for _, types := range octest.ΛEnumTypes {
		for _, candidate := range types {
			e, _ := reflect.Zero(candidate).Interface().(ygot.GoEnum)
			if typ.Kind() == reflect.Interface && candidate.Implements(typ) && !slices.Contains(out, e) {
				out = append(out, e)
			}
		}
	}
	return out
}

func TestTheModulesAreYgots(t *testing.T) {
	var want []model.Module
	for _, m := range octest.ΓModelData {
		want = append(want, model.Module{Name: m.GetName(), Organization: m.GetOrganization(), Version: m.GetVersion()})
	}
	if diff := cmp.Diff(want, model.Modules); diff != "" {
		t.Errorf("(-ygot +table):\n%s", diff)
	}
}

func TestDefaultsAreOfTheirTypes(t *testing.T) {
	defaults := 0
	for _, n := range model.Nodes {
		if n.Default == "" {
			continue
		}
		defaults++
		want := n.Type.FromText(n.Default)
		if got, err := n.Type.Check(want); err != nil || got != want {
			t.Errorf("%s: the default %v is taken as %v, %v", n.Path, want, got, err)
		}
	}
	if defaults < 50 {
		t.Errorf("%d defaults", defaults)
	}
}

func TestNothingTrimmedIsInTheTable(t *testing.T) {
	for _, n := range model.Nodes {
		for _, out := range model.Trimmed {
			if n.Path == out || strings.HasPrefix(n.Path, out+"/") {
				t.Errorf("%s is in the table, and trim.txt leaves it out", n.Path)
			}
		}
	}
}
