package tree

import (
	"fmt"
	"slices"
)

// Validator judges one configuration after another at the cost of what changed
// between them. Values are judged when they are written (check.go); left to
// judge are the keys of list entries and the references, of which the Validator
// keeps count: how often each value occurs as a target, how often it is referred
// to. A part of the tree that the last valid configuration has too, being the
// same node (Fork), is not looked at again.
//
// A reference is good if its value occurs among the leaves it points at,
// wherever; predicates in the leafref's path select the right one and are the
// compiler's to ask. JudgeWhole is the slow way to the same answer.
type Validator struct {
	valid      *Node // the last configuration found valid, which the counts are about
	counts     map[reference]count
	interfaces []string
}

// reference is a value of a leaf that others refer to.
type reference struct {
	target *Schema
	value  string
}

// count of places where a value stands, and of those that refer to it.
type count struct{ there, wanted int }

// NewValidator has seen nothing yet: the first configuration is judged whole.
func NewValidator() *Validator {
	return &Validator{valid: New(), counts: map[reference]count{}}
}

// Validate judges a configuration. Interfaces exist on the router without being configured.
func (v *Validator) Validate(n *Node, interfaces []string) error {
	d := delta{}
	if err := d.between(v.valid, n); err != nil {
		return n.explain(err)
	}
	d.names(v.interfaces, -1)
	d.names(interfaces, +1)
	for ref, c := range d {
		old := v.counts[ref]
		if old.wanted+c.wanted > 0 && old.there+c.there <= 0 {
			return n.dangling(ref)
		}
	}
	v.accept(n, interfaces, d)
	return nil
}

func (v *Validator) accept(n *Node, interfaces []string, d delta) {
	for ref, c := range d {
		old := v.counts[ref]
		if c = (count{old.there + c.there, old.wanted + c.wanted}); c == (count{}) {
			delete(v.counts, ref)
		} else {
			v.counts[ref] = c
		}
	}
	v.valid, v.interfaces = n, slices.Clone(interfaces)
}

// delta is the difference of two configurations in references.
type delta map[reference]count

// errKey says that a list entry's key is wrong; which one, explain finds out.
var errKey = fmt.Errorf("the key of a list entry is not that of its config")

// between adds what changed from a to b, either of which may be nil.
func (d delta) between(a, b *Node) error {
	switch {
	case a == b:
		return nil
	case b == nil:
		d.add(a, -1)
		return nil
	case b.Members == nil:
		if a != nil && sameValue(a.Value, b.Value) {
			return nil
		}
		if a != nil {
			d.add(a, -1)
		}
		d.add(b, +1)
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
	return d.members(before, b.Members)
}

func (d delta) members(a, b map[string]*Node) error {
	for name, x := range a {
		if b[name] == nil {
			d.add(x, -1)
		}
	}
	for name, y := range b {
		if err := d.between(a[name], y); err != nil {
			return err
		}
	}
	return nil
}

// add counts everything at and below a node.
func (d delta) add(n *Node, sign int) {
	s := n.Schema
	if !s.refers {
		return
	}
	for _, m := range n.Members {
		d.add(m, sign)
	}
	if n.Members != nil {
		return
	}
	values, list := n.Value.([]any)
	if !list {
		d.addValue(s, n.Value, sign)
	}
	for _, x := range values {
		d.addValue(s, x, sign)
	}
}

func (d delta) addValue(s *Schema, value any, sign int) {
	if s.wanted {
		d.count(reference{s, text(value)}, count{there: sign})
	}
	if s.target != nil {
		d.count(reference{s.target, text(value)}, count{wanted: sign})
	}
}

func (d delta) count(ref reference, c count) {
	have := d[ref]
	d[ref] = count{have.there + c.there, have.wanted + c.wanted}
}

// names counts the router's interfaces as if they were configured.
func (d delta) names(interfaces []string, sign int) {
	list := Root().Children["interfaces"].Children["interface"]
	for _, s := range []*Schema{list.Children["name"], list.Children["config"].Children["name"]} {
		for _, name := range interfaces {
			if s.wanted {
				d.count(reference{s, name}, count{there: sign})
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
	err := fmt.Errorf("something refers to %q, which is not among %s", ref.value, ref.target.Path())
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
				err = fmt.Errorf("%s refers to %q, which is not among %s", m.Path, ref.value, ref.target.Path())
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
