package tree

import (
	"fmt"
	"slices"
)

// PathError is something wrong at one place of a tree.
type PathError struct {
	At     Path
	Reason string
}

func (e *PathError) Error() string { return e.At.String() + " " + e.Reason }

// Validator judges one configuration after another at the cost of what changed
// between them. Values are judged when they are written (check.go); left to
// judge are the keys of list entries and the references, of which the Validator
// keeps count: how often each value occurs as a target, how often it is referred
// to. A part of the tree that the last valid configuration has too, being the
// same node (Fork), is not looked at again.
//
// A reference is good if its value occurs among the leaves it points at,
// wherever; predicates in the leafref's path select the right one and are the
// compiler's to ask.
type Validator struct {
	valid      *Node // the last configuration found valid, which the counts are about
	counts     map[reference]*count
	interfaces []string
	// changes are what was counted since the last valid configuration, to be undone if the next is not.
	changes []change
}

// reference is a value of a leaf that others refer to.
type reference struct {
	target *Schema
	value  string
}

// count of places where a value stands, and of those that refer to it.
type count struct {
	ref           reference
	there, wanted int
}

type change struct {
	of            *count
	there, wanted int
}

// NewValidator has seen nothing yet: the first configuration is judged whole.
func NewValidator() *Validator {
	return &Validator{valid: New(), counts: map[reference]*count{}}
}

// Validate judges a configuration. Interfaces exist on the router without being configured.
func (v *Validator) Validate(n *Node, interfaces []string) error {
	v.changes = v.changes[:0]
	if err := v.between(v.valid, n); err != nil {
		v.undo()
		return n.explain(err)
	}
	v.names(v.interfaces, -1)
	v.names(interfaces, +1)
	for _, c := range v.changes {
		if c.of.wanted > 0 && c.of.there <= 0 {
			v.undo()
			return n.dangling(c.of.ref)
		}
	}
	v.accept(n, interfaces)
	return nil
}

func (v *Validator) undo() {
	for _, c := range v.changes {
		c.of.there, c.of.wanted = c.of.there-c.there, c.of.wanted-c.wanted
	}
	v.forget()
}

func (v *Validator) accept(n *Node, interfaces []string) {
	v.forget()
	v.valid, v.interfaces = n, slices.Clone(interfaces)
}

// forget drops what was counted down to nothing.
func (v *Validator) forget() {
	for _, c := range v.changes {
		if c.of.there == 0 && c.of.wanted == 0 {
			delete(v.counts, c.of.ref)
		}
	}
	v.changes = nil
}

// errKey says that a list entry's key is wrong; which one, explain finds out.
var errKey = fmt.Errorf("the key of a list entry is not that of its config")

// between counts what changed from a to b, either of which may be nil.
func (v *Validator) between(a, b *Node) error {
	switch {
	case a == b:
		return nil
	case b == nil:
		v.add(a, -1)
		return nil
	case b.Members == nil:
		if a != nil && sameValue(a.Value, b.Value) {
			return nil
		}
		if a != nil {
			v.add(a, -1)
		}
		v.add(b, +1)
		return nil
	case b.isEntry():
		for _, k := range b.Schema.Keys {
			if !b.keyHolds(k) {
				return errKey
			}
		}
	}
	var before map[string]*Node
	if a != nil {
		before = a.Members
	}
	return v.members(before, b.Members)
}

func (v *Validator) members(a, b map[string]*Node) error {
	for name, x := range a {
		if b[name] == nil {
			v.add(x, -1)
		}
	}
	for name, y := range b {
		if err := v.between(a[name], y); err != nil {
			return err
		}
	}
	return nil
}

// add counts everything at and below a node.
func (v *Validator) add(n *Node, sign int) {
	s := n.Schema
	if !s.refers {
		return
	}
	for _, m := range n.Members {
		v.add(m, sign)
	}
	if n.Members != nil {
		return
	}
	values, list := n.Value.([]any)
	if !list {
		v.addValue(s, n.Value, sign)
	}
	for _, x := range values {
		v.addValue(s, x, sign)
	}
}

func (v *Validator) addValue(s *Schema, value any, sign int) {
	if s.wanted {
		v.count(reference{s, text(value)}, sign, 0)
	}
	if s.target != nil {
		v.count(reference{s.target, text(value)}, 0, sign)
	}
}

func (v *Validator) count(ref reference, there, wanted int) {
	c := v.counts[ref]
	if c == nil {
		c = &count{ref: ref}
		v.counts[ref] = c
	}
	c.there, c.wanted = c.there+there, c.wanted+wanted
	v.changes = append(v.changes, change{c, there, wanted})
}

// names counts the router's interfaces as if they were configured.
func (v *Validator) names(interfaces []string, sign int) {
	list := Root().Children["interfaces"].Children["interface"]
	for _, s := range []*Schema{list.Children["name"], list.Children["config"].Children["name"]} {
		for _, name := range interfaces {
			if s.wanted {
				v.count(reference{s, name}, sign, 0)
			}
		}
	}
}

// explain finds the entry whose key is wrong.
func (n *Node) explain(err error) error {
	if found := n.checkKeys(Path{}); found != nil {
		return found
	}
	return err
}

// dangling finds a leaf that refers to what is not there.
func (n *Node) dangling(ref reference) error {
	err := error(fmt.Errorf("something refers to %q, which is not among %s", ref.value, ref.target.Path()))
	Match{Node: n}.Leaves(func(m Match) {
		if m.Node.Schema.target != ref.target {
			return
		}
		values, list := m.Node.Value.([]any)
		if !list {
			values = []any{m.Node.Value}
		}
		for _, v := range values {
			if text(v) == ref.value {
				err = &PathError{m.Path, fmt.Sprintf("refers to %q, which is not among %s", ref.value, ref.target.Path())}
			}
		}
	})
	return err
}

// Judge validates a configuration on its own.
func (n *Node) Judge(interfaces []string) (*Node, error) {
	return n, NewValidator().Validate(n, interfaces)
}

// checkReferences is the whole answer without counts kept from before.
func (n *Node) checkReferences() error { return NewValidator().Validate(n, nil) }
