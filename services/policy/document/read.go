package document

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// field is one field of a struct as its tags describe it.
type field struct {
	name, want string
	required   bool
	// positive: 0 would be taken for a field that is left out.
	positive bool
	index    int
}

func fieldsOf(t reflect.Type) []field {
	var out []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("policy"), ",")
		out = append(out, field{name: name, want: f.Tag.Get("want"), required: options == "required", positive: options == "positive", index: i})
	}
	return out
}

var textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()

// read stores node in v. want says what to write here instead, should node not fit.
func (r *reader) read(node ast.Node, v reflect.Value, path, want string) {
	if a, ok := node.(*ast.AnchorNode); ok {
		node = a.Value
	}
	r.places[path] = node.GetToken()
	switch {
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		r.read(node, v.Elem(), path, want)
	case reflect.PointerTo(v.Type()).Implements(textUnmarshaler):
		r.readText(node, v, path, want)
	case v.Kind() == reflect.Struct:
		r.readStruct(node, v, path, want)
	case v.Kind() == reflect.Slice:
		r.readList(node, v, path, want)
	case v.Kind() == reflect.String:
		if s, ok := text(node); ok {
			v.SetString(s)
			return
		}
		r.mismatch(node, path, want)
	case v.Kind() == reflect.Uint8:
		r.readNumber(node, v, path, want)
	case v.Kind() == reflect.Bool:
		if b, ok := node.(*ast.BoolNode); ok {
			v.SetBool(b.Value)
			return
		}
		r.mismatch(node, path, want)
	}
}

func (r *reader) mismatch(node ast.Node, path, want string) {
	message := path + " has the wrong form"
	if s, ok := text(node); ok {
		message = fmt.Sprintf("%s: %q has the wrong form", path, s)
	}
	if path == "" {
		message = "this is not a policy"
	}
	if _, isAlias := node.(*ast.AliasNode); isAlias {
		message = path + " is an alias"
	}
	r.problem(path, message, "write "+want)
}

// text is a scalar as it was written, whatever YAML would make of it.
func text(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	}
	return "", false
}

func (r *reader) readText(node ast.Node, v reflect.Value, path, want string) {
	s, ok := text(node)
	if !ok {
		r.mismatch(node, path, want)
		return
	}
	if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(s)); err != nil {
		r.problem(path, fmt.Sprintf("%s: %v", path, err), "write "+want)
	}
}

func (r *reader) readNumber(node ast.Node, v reflect.Value, path, want string) {
	n, ok := node.(*ast.IntegerNode)
	if !ok {
		r.mismatch(node, path, want)
		return
	}
	// go-yaml holds negative numbers as int64, the others as uint64.
	u, ok := n.Value.(uint64)
	if !ok || u > math.MaxUint8 {
		r.problem(path, fmt.Sprintf("%s: %s is out of range", path, n.Token.Value), "write "+want)
		return
	}
	v.SetUint(u)
}

func (r *reader) readList(node ast.Node, v reflect.Value, path, want string) {
	list, ok := node.(*ast.SequenceNode)
	if !ok {
		r.mismatch(node, path, want)
		return
	}
	if len(list.Values) == 0 {
		r.problem(path, path+" is empty", "leave it out, or write "+want)
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(list.Values), len(list.Values)))
	for i, item := range list.Values {
		r.read(item, v.Index(i), fmt.Sprintf("%s[%d]", path, i), want)
	}
}

func (r *reader) readStruct(node ast.Node, v reflect.Value, path, want string) {
	pairs, ok := mapping(node)
	if !ok {
		r.mismatch(node, path, want)
		return
	}
	if len(pairs) > 0 {
		// The token of a mapping is its first colon; people look at its first key.
		r.places[path] = pairs[0].Key.GetToken()
	}
	fields, seen := fieldsOf(v.Type()), map[string]bool{}
	for _, pair := range pairs {
		name := pair.Key.GetToken().Value
		f, known := lookup(fields, name)
		if !known {
			r.problemAt(pair.Key.GetToken(), fmt.Sprintf("%s is not a field here", at(path, name)), fixUnknown(fields, name))
			continue
		}
		seen[name] = true
		found := len(r.problems)
		r.read(pair.Value, v.Field(f.index), at(path, name), f.want)
		if f.positive && v.Field(f.index).IsZero() && len(r.problems) == found {
			r.problem(at(path, name), fmt.Sprintf("%s: 0 is out of range", at(path, name)), "write "+f.want+", or leave it out")
		}
	}
	for _, f := range fields {
		if f.required && !seen[f.name] {
			r.problem(path, at(path, f.name)+" is missing", fmt.Sprintf("add %s: with %s", f.name, f.want))
		}
	}
}

func mapping(node ast.Node) ([]*ast.MappingValueNode, bool) {
	switch n := node.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	return nil, false
}

func lookup(fields []field, name string) (field, bool) {
	for _, f := range fields {
		if f.name == name {
			return f, true
		}
	}
	return field{}, false
}

func at(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
