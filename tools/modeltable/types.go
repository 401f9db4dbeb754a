package main

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/openconfig/goyang/pkg/yang"
	"github.com/openconfig/ygot/util"
	"github.com/openconfig/ygot/ygot"

	"github.com/millrace/millrace/services/routeragent/model"
	"github.com/millrace/millrace/services/routeragent/octest"
)

// predicates select among list entries; a leafref is not checked for the right entry.
var predicates = regexp.MustCompile(`\[[^\]]*\]`)

var kinds = map[yang.TypeKind]model.TypeKind{
	yang.Ybool: model.Boolean, yang.Ystring: model.String, yang.Ydecimal64: model.Decimal64,
	yang.Yint8: model.Integer, yang.Yint16: model.Integer, yang.Yint32: model.Integer, yang.Yint64: model.Integer64,
	yang.Yuint8: model.Integer, yang.Yuint16: model.Integer, yang.Yuint32: model.Integer, yang.Yuint64: model.Integer64,
	yang.Yenum: model.Enumeration, yang.Yidentityref: model.Identityref, yang.Yunion: model.Union,
}

// convert turns the type of a leaf, or a member of its union, into a row of the table of types.
func convert(n *node, t *yang.YangType) (*model.Type, error) {
	kind, ok := kinds[t.Kind]
	if !ok {
		return nil, fmt.Errorf("type %s has no place in the table", t.Kind)
	}
	out := &model.Type{Name: unqualified(t.Name), Kind: kind}
	var err error
	switch kind {
	case model.Integer, model.Integer64:
		out.Range, err = ranges(t.Range)
	case model.String:
		out.Patterns, _ = util.SanitizedPattern(t)
		out.Length, err = ranges(t.Length)
	case model.Enumeration:
		out.Words = t.Enum.Names()
		slices.Sort(out.Words)
	case model.Identityref:
		out.Name = unqualified(t.IdentityBase.Name)
		out.Words = identities(n.Path)
	case model.Union:
		out.Members, err = members(n, t)
	}
	if kind != model.Union && len(out.Words) == 0 && (kind == model.Enumeration || kind == model.Identityref) {
		return nil, fmt.Errorf("%s has no words", out.Name)
	}
	return out, err
}

// members of a union, unions in it unfolded; words go before strings, as with ygot.
func members(n *node, t *yang.YangType) ([]*model.Type, error) {
	var words, rest []*model.Type
	for _, m := range t.Type {
		c, err := convert(n, m)
		switch {
		case err != nil:
			return nil, err
		case c.Kind == model.Union:
			rest = append(rest, c.Members...)
		case c.Kind == model.Enumeration || c.Kind == model.Identityref:
			words = append(words, c)
		default:
			rest = append(rest, c)
		}
	}
	if len(words) > 1 {
		return nil, fmt.Errorf("a union of several enumerations has no place in the table")
	}
	return append(words, rest...), nil
}

// ranges of YANG, of whole numbers.
func ranges(r yang.YangRange) (model.Ranges, error) {
	var out model.Ranges
	for _, part := range r {
		if part.Max.Negative || part.Min.FractionDigits != 0 || !part.Min.Negative && part.Min.Value > 1<<63-1 {
			return nil, fmt.Errorf("range %s has no place in the table", part)
		}
		low := int64(part.Min.Value)
		if part.Min.Negative {
			low = -low
		}
		out = append(out, model.Range{Min: low, Max: part.Max.Value})
	}
	return out, nil
}

// identities are the words of a leaf that a module defines, each qualified with it, sorted by their own names.
func identities(path string) []string {
	var out []string
	for _, t := range octest.ΛEnumTypes[path] {
		e := reflect.Zero(t).Interface().(ygot.GoEnum)
		for _, d := range e.ΛMap()[t.Name()] {
			if d.DefiningModule != "" {
				out = append(out, d.DefiningModule+":"+d.Name)
			}
		}
	}
	slices.SortFunc(out, func(a, b string) int { return strings.Compare(unqualified(a), unqualified(b)) })
	return out
}

// types are the different ones, in the order in which the nodes use them, each with the name of its variable.
type types struct {
	list  []*namedType
	taken map[string]bool
}

type namedType struct {
	*model.Type
	variable string
}

func newTypes() *types { return &types{taken: map[string]bool{}} }

// add finds or keeps a type; hint names it if YANG has no name for it.
func (ts *types) add(t *model.Type, hint string) (*model.Type, string) {
	for i, m := range t.Members {
		t.Members[i], _ = ts.add(m, fmt.Sprintf("%s-%d", t.Name, i+1))
	}
	for _, have := range ts.list {
		if same(have.Type, t) {
			return have.Type, have.variable
		}
	}
	name := variable(t, hint)
	for n := 2; ts.taken[name]; n++ {
		name = fmt.Sprintf("%s%d", variable(t, hint), n)
	}
	ts.taken[name] = true
	ts.list = append(ts.list, &namedType{t, name})
	return t, name
}

func same(a, b *model.Type) bool {
	return a.Name == b.Name && a.Kind == b.Kind && slices.Equal(a.Range, b.Range) && slices.Equal(a.Length, b.Length) &&
		slices.Equal(a.Patterns, b.Patterns) && slices.Equal(a.Words, b.Words) && slices.Equal(a.Members, b.Members)
}
