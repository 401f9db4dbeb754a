// Package tree is the agent's data tree: gNMI paths and JSON in, edits, a
// validated candidate and JSON out.
//
// In: gNMI operations, state, and the schema (services/routeragent/model).
// Out: Node trees, which services/routeragent/intent compiles. Next:
// services/routeragent/gnmi.
//
// The tree is generic (names, keys, values). The tests compare what it accepts
// with ygot, which had no part in writing it.
package tree

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/millrace/millrace/services/routeragent/model"
)

// Schema is one node of the data model.
type Schema struct {
	Name, Module string
	Kind         Kind
	// Config is false for state and everything under it.
	Config bool
	// Keys of a list in the order of the model.
	Keys []string
	// Type of a leaf or leaf-list; a leafref has the type of what it refers to.
	Type *model.Type
	// Refers is the leaf that a leafref refers to.
	Refers   *Schema
	Parent   *Schema
	Children map[string]*Schema

	path  string
	value string   // the default
	names []string // of children, sorted

	// What follows is worked out once, because every Set needs it thousands of times.
	target *Schema // of a configured leafref that is no key: the leaf it must equal somewhere
	wanted bool    // something refers to this leaf
	refers bool    // this or something below it refers or is referred to
}

// Kind of a schema node.
type Kind = model.Kind

// Kinds of schema nodes.
const (
	Container = model.Container
	List      = model.List
	Leaf      = model.Leaf
	LeafList  = model.LeafList
)

// Root returns the schema of the whole device.
var Root = sync.OnceValue(load)

// load makes the tree of the table, in which every node stands after its parent.
func load() *Schema {
	nodes := make([]Schema, len(model.Nodes))
	root := &Schema{Kind: Container, Config: true, Children: map[string]*Schema{}}
	at := make(map[string]*Schema, len(nodes)+1)
	at[""] = root
	for i := range model.Nodes {
		row := &model.Nodes[i]
		parent := at[row.Path[:strings.LastIndexByte(row.Path, '/')]]
		nodes[i] = newSchema(row, parent)
		at[row.Path] = &nodes[i]
		parent.Children[nodes[i].Name] = &nodes[i]
		parent.names = append(parent.names, nodes[i].Name)
	}
	link(nodes, at)
	root.prune()
	return root
}

func newSchema(row *model.Node, parent *Schema) Schema {
	s := Schema{
		Name: row.Path[strings.LastIndexByte(row.Path, '/')+1:], Module: row.Module, Kind: row.Kind, Config: !row.State,
		Type: row.Type, Parent: parent, path: row.Path, value: row.Default,
	}
	switch row.Kind {
	case List:
		s.Keys = strings.Fields(row.Keys)
		fallthrough
	case Container:
		s.Children = map[string]*Schema{}
	}
	return s
}

// link joins references with what they refer to.
func link(nodes []Schema, at map[string]*Schema) {
	for i := range nodes {
		s, path := &nodes[i], model.Nodes[i].Refers
		if path == "" {
			continue
		}
		s.Refers = at[path]
		if s.Config && !s.IsKey() {
			s.target = s.Refers
			s.target.wanted = true
		}
	}
}

// prune marks the parts in which a search for references finds something.
func (s *Schema) prune() {
	s.refers = s.wanted || s.target != nil
	for _, c := range s.Children {
		c.prune()
		s.refers = s.refers || c.refers
	}
}

// IsKey is true for the key leaf of a list.
func (s *Schema) IsKey() bool { return s.Parent != nil && slices.Contains(s.Parent.Keys, s.Name) }

// Path is the schema path without keys.
func (s *Schema) Path() string { return s.path }

// Default is the value that a leaf has while it is not set, if the model gives it one.
func (s *Schema) Default() (value any, ok bool) {
	if s.value == "" {
		return nil, false
	}
	return s.Type.FromText(s.value), true
}

// check brings one value of a leaf into its canonical spelling, or refuses it.
func (s *Schema) check(v any) (any, error) {
	out, err := s.Type.Check(v)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.path, err)
	}
	return out, nil
}

// child finds a member by its JSON or path name, with or without module.
func (s *Schema) child(name string) (*Schema, error) {
	module, bare, qualified := strings.Cut(name, ":")
	if !qualified {
		module, bare = "", name
	}
	c, ok := s.Children[bare]
	if !ok {
		return nil, s.unknown(bare)
	}
	if qualified && c.Module != module {
		return nil, ErrUnknown{Path: c.path, module: c.Module, given: module}
	}
	return c, nil
}

func (s *Schema) String() string { return fmt.Sprintf("%s (%s)", s.path, s.Module) }
