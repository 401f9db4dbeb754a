// Package tree is the agent's data tree: gNMI paths and JSON in, edits, a
// validated candidate and JSON out.
//
// In: gNMI operations and state as ygot structs. Out: Node trees and the
// oc.Device that services/routeragent/intent compiles. Next:
// services/routeragent/gnmi.
//
// The tree is generic (names, keys, values), with ygot as the judge of types,
// ranges and leafrefs: ytypes' own Set accepts state paths, nulls, unknown
// origins and wildcard deletes silently, which a gNMI target must not.
package tree

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/openconfig/goyang/pkg/yang"

	"github.com/millrace/millrace/services/routeragent/oc"
)

// Schema is one node of the data model.
type Schema struct {
	Name, Module string
	Kind         Kind
	// Config is false for state and everything under it.
	Config bool
	// Keys of a list in the order of the model.
	Keys []string
	// Type of a leaf or leaf-list.
	Type     *yang.YangType
	Parent   *Schema
	Children map[string]*Schema

	// What follows is worked out once, because every Set asks for it thousands of times.
	path   string
	names  []string // of children, sorted
	check  checker  // of a leaf: one value
	target *Schema  // of a configured leafref that is no key: the leaf it must equal somewhere
	wanted bool     // something refers to this leaf
	refers bool     // this or something below it refers or is referred to
}

// Kind of a schema node.
type Kind int

// Kinds of schema nodes.
const (
	Container Kind = iota
	List
	Leaf
	LeafList
)

// Root returns the schema of the whole device.
var Root = sync.OnceValue(func() *Schema {
	entry := oc.SchemaTree["Device"]
	s := &Schema{Name: "", Kind: Container, Config: true}
	build(s, reflect.TypeOf(oc.Device{}), entry)
	s.prepare(s)
	s.link(s)
	s.prune()
	return s
})

// prepare works out paths, names and value checks.
func (s *Schema) prepare(root *Schema) {
	s.names = slices.Sorted(maps.Keys(s.Children))
	for _, c := range s.Children {
		c.path = s.path + "/" + c.Name
		c.prepare(root)
	}
	if s.Type != nil {
		s.check = newChecker(root, s, s.Type)
	}
}

// link joins references with what they refer to.
func (s *Schema) link(root *Schema) {
	if s.Type != nil && s.Type.Kind == yang.Yleafref && s.Config && !s.IsKey() {
		if s.target = referred(root, s); s.target != nil {
			s.target.wanted = true
		}
	}
	for _, c := range s.Children {
		c.link(root)
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

// build walks the Go type (which knows the module of each node) and the YANG entry (which knows its type) side by side.
func build(s *Schema, t reflect.Type, entry *yang.Entry) {
	s.Children = map[string]*Schema{}
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("path")
		e := entry.Dir[name]
		if name == "" || e == nil {
			continue
		}
		module := f.Tag.Get("module")
		c := &Schema{Name: name, Module: module[strings.LastIndex(module, "/")+1:], Parent: s, Config: s.Config && e.Config != yang.TSFalse}
		s.Children[name] = c
		switch {
		case e.IsLeafList():
			c.Kind, c.Type = LeafList, e.Type
		case e.IsLeaf():
			c.Kind, c.Type = Leaf, e.Type
		case e.IsList():
			c.Kind, c.Keys = List, strings.Fields(e.Key)
			build(c, f.Type.Elem().Elem(), e)
		default:
			build(c, f.Type.Elem(), e)
		}
	}
}

// Path is the schema path without keys.
func (s *Schema) Path() string { return s.path }

// child finds a member by its JSON or path name, with or without module.
func (s *Schema) child(name string) (*Schema, error) {
	module, bare, qualified := strings.Cut(name, ":")
	if !qualified {
		module, bare = "", name
	}
	c, ok := s.Children[bare]
	if !ok || (qualified && c.Module != module) {
		return nil, s.unknown(bare)
	}
	return c, nil
}

// ErrUnknown is a path OpenConfig does not have; ErrTrimmed one it has and the agent does not implement.
type ErrUnknown struct{ Path string }

func (e ErrUnknown) Error() string { return "no such node in the data model: " + e.Path }

// ErrTrimmed is a path of OpenConfig that the agent does not implement.
type ErrTrimmed struct{ Path string }

func (e ErrTrimmed) Error() string { return "not implemented by this agent: " + e.Path }

// foreignRoots are top-level containers of OpenConfig v5.9.0 of which the agent has nothing.
var foreignRoots = []string{"acl", "bfd", "components", "keychains", "lacp", "lldp", "macsec", "messages", "oam", "probes", "routing-policy",
	"sampling", "stp", "system", "vlans", "relay-agent", "ate-flows", "bgp", "isis", "ospf", "telemetry-system"}

// ForeignRoots lists top-level containers of OpenConfig of which the agent has nothing.
func ForeignRoots() []string { return slices.Sorted(slices.Values(foreignRoots)) }

func (s *Schema) unknown(name string) error {
	path := s.Path() + "/" + name
	if slices.Contains(oc.Trimmed, path) || (s.Parent == nil && slices.Contains(foreignRoots, name)) {
		return ErrTrimmed{path}
	}
	return ErrUnknown{path}
}

// Is64 is true for types that JSON_IETF writes as strings (RFC 7951 section 6.1).
func Is64(t *yang.YangType) bool {
	return t != nil && (t.Kind == yang.Yint64 || t.Kind == yang.Yuint64 || t.Kind == yang.Ydecimal64)
}

func (s *Schema) String() string { return fmt.Sprintf("%s (%s)", s.Path(), s.Module) }
