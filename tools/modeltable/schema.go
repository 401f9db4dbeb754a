package main

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/openconfig/goyang/pkg/yang"

	"github.com/millrace/millrace/services/routeragent/model"
	"github.com/millrace/millrace/services/routeragent/octest"
)

// node is a row of the table, with the name of its type's variable and the YANG it comes from.
type node struct {
	model.Node
	typeName string
	entry    *yang.Entry
}

// schema is what is read.
type schema struct {
	nodes []*node
	types *types
	at    map[string]*node
}

// readSchema walks the Go structs (which have the module of each node) and the YANG schema (which has its
// type) side by side.
func readSchema() (*schema, error) {
	s := &schema{types: newTypes(), at: map[string]*node{}}
	if err := s.walk(model.Node{}, reflect.TypeOf(octest.Device{}), octest.SchemaTree["Device"]); err != nil {
		return nil, err
	}
	slices.SortFunc(s.nodes, func(a, b *node) int { return slices.CompareFunc(steps(a.Path), steps(b.Path), cmp.Compare[string]) })
	for _, n := range s.nodes {
		if n.Kind != model.Leaf && n.Kind != model.LeafList {
			continue
		}
		if err := s.setType(n); err != nil {
			return nil, fmt.Errorf("%s: %w", n.Path, err)
		}
	}
	return s, nil
}

func steps(path string) []string { return strings.Split(path, "/") }

func (s *schema) walk(parent model.Node, t reflect.Type, entry *yang.Entry) error {
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("path")
		e := entry.Dir[name]
		if e == nil {
			return fmt.Errorf("%s has a field %s and no such node", parent.Path, f.Name)
		}
		module := f.Tag.Get("module")
		n := &node{entry: e, Node: model.Node{
			Path: parent.Path + "/" + name, Module: module[strings.LastIndex(module, "/")+1:],
			State: parent.State || e.Config == yang.TSFalse,
		}}
		s.nodes, s.at[n.Path] = append(s.nodes, n), n
		below := f.Type
		switch {
		case e.IsLeafList():
			n.Kind = model.LeafList
		case e.IsLeaf():
			n.Kind = model.Leaf
		case e.IsList():
			n.Kind, n.Keys, below = model.List, strings.Join(strings.Fields(e.Key), " "), f.Type.Elem()
		}
		if e.IsDir() {
			if err := s.walk(n.Node, below.Elem(), e); err != nil {
				return err
			}
		}
	}
	return nil
}

// setType gives a leaf its type, its default and, if it is a leafref, what it refers to.
func (s *schema) setType(n *node) error {
	from := n
	for from.entry.Type.Kind == yang.Yleafref {
		to := s.referred(from)
		if to == nil {
			return fmt.Errorf("the leafref %s of %s leads out of the schema", from.entry.Type.Path, from.Path)
		}
		if n.Refers == "" {
			n.Refers = to.Path
		}
		from = to
	}
	t, err := convert(from, from.entry.Type)
	if err != nil {
		return err
	}
	n.Type, n.typeName = s.types.add(t, hint(from.Path))
	return n.setDefault()
}

func (s *schema) referred(n *node) *node {
	at := n.Path
	path := predicates.ReplaceAllString(n.entry.Type.Path, "")
	if strings.HasPrefix(path, "/") {
		at = ""
	}
	for _, step := range strings.Split(strings.Trim(path, "/"), "/") {
		if step = unqualified(step); step == ".." {
			at = at[:strings.LastIndex(at, "/")]
		} else {
			at += "/" + step
		}
	}
	return s.at[at]
}

// setDefault writes a default as a value of JSON, identities with their module.
func (n *node) setDefault() error {
	values := n.entry.DefaultValues()
	if len(values) == 0 {
		return nil
	}
	if len(values) > 1 || n.Kind != model.Leaf {
		return fmt.Errorf("defaults of leaf-lists have no place in the table")
	}
	v, err := n.Type.Check(n.Type.FromText(values[0]))
	if err != nil {
		return fmt.Errorf("default: %w", err)
	}
	n.Default = fmt.Sprint(v)
	return nil
}

// unqualified is a name without the prefix of its module.
func unqualified(name string) string { return name[strings.Index(name, ":")+1:] }
