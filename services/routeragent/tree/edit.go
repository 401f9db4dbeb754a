package tree

import (
	"fmt"
	"slices"
)

// Delete removes what a path selects. Nothing selected is no error (gNMI section 3.4.6).
func (n *Node) Delete(p Path) error {
	if err := writable(p); err != nil {
		return err
	}
	if len(p.Elems) == 0 {
		n.Members = map[string]*Node{}
		return nil
	}
	if isKey(p) {
		return fmt.Errorf("%s is a key; delete the list entry instead", p)
	}
	n.remove(p.Elems)
	return nil
}

// remove deletes and drops containers that became empty; list entries stay until they are deleted themselves.
func (n *Node) remove(rest []Elem) {
	e := rest[0]
	m := n.own(e.Schema.Name)
	if m == nil {
		return
	}
	switch {
	case e.Schema.Kind == List:
		for _, id := range m.selected(e) {
			if len(rest) == 1 {
				delete(m.Members, id)
			} else {
				m.own(id).remove(rest[1:])
			}
		}
	case len(rest) == 1:
		delete(n.Members, e.Schema.Name)
		return
	default:
		m.remove(rest[1:])
	}
	n.dropEmpty(e.Schema.Name)
}

func (n *Node) dropEmpty(name string) {
	if m := n.Members[name]; m != nil && m.empty() {
		delete(n.Members, name)
	}
}

// Update merges a JSON value into the tree at a path: members not named stay, leaf-lists grow.
func (n *Node) Update(p Path, v any) error { return n.write(p, v, false) }

// Replace makes a path hold the value and nothing else.
func (n *Node) Replace(p Path, v any) error { return n.write(p, v, true) }

func (n *Node) write(p Path, v any, replace bool) error {
	if err := writable(p); err != nil {
		return err
	}
	if p.partial() {
		return fmt.Errorf("%s: a write names every key of every list", p)
	}
	if v == nil {
		return fmt.Errorf("%s: null is no value; use delete", p)
	}
	if o, ok := v.(map[string]any); ok && len(o) == 0 && p.Schema().Kind == List {
		return fmt.Errorf("%s: an empty object names no entry; use delete", p)
	}
	if replace && len(p.Elems) == 0 {
		n.Members = map[string]*Node{}
	} else if replace {
		n.remove(p.Elems)
	}
	return n.writeAt(p.Elems, v)
}

// writeAt walks to where the value belongs, making what is missing; a
// container that is still empty afterwards is dropped.
func (n *Node) writeAt(rest []Elem, v any) error {
	if len(rest) == 0 {
		return n.merge(v)
	}
	e := rest[0]
	if e.Schema.Kind == Leaf || e.Schema.Kind == LeafList {
		return n.setLeaf(e.Schema, v)
	}
	at, err := n.descend(e)
	if err != nil {
		return err
	}
	err = at.writeAt(rest[1:], v)
	n.dropEmpty(e.Schema.Name)
	return err
}

// descend finds or makes a container or list entry, owned by this tree; an entry comes with its key leaves.
func (n *Node) descend(e Elem) (*Node, error) {
	m := n.own(e.Schema.Name)
	if m == nil {
		m = n.add(e.Schema.Name, e.Schema)
	}
	if e.Schema.Kind != List {
		return m, nil
	}
	id := entryKey(e.Schema, e.Keys)
	if entry := m.own(id); entry != nil {
		return entry, nil
	}
	return m.newEntry(id, e)
}

func (n *Node) newEntry(id string, e Elem) (*Node, error) {
	entry := &Node{Schema: e.Schema, Members: make(map[string]*Node, 4), Keys: e.Keys, owner: n.owner}
	for _, k := range e.Schema.Keys {
		s := e.Schema.Children[k]
		value, err := s.check(s.Type.FromText(e.Keys[k]))
		if err != nil {
			return nil, err
		}
		if have := canonicalKey(text(value)); have != e.Keys[k] {
			return nil, fmt.Errorf("%s: key %q is written %q", s.Path(), e.Keys[k], have)
		}
		entry.Members[k] = &Node{Schema: s, Value: value}
		// The key is a leafref to config/<key>; a path that makes an entry makes both.
		if c := e.Schema.Children["config"]; c != nil && c.Config && c.Children[k] != nil {
			cn := entry.Members["config"]
			if cn == nil {
				cn = entry.add("config", c)
			}
			cn.Members[k] = &Node{Schema: c.Children[k], Value: value}
		}
	}
	n.Members[id] = entry
	return entry, nil
}

// merge writes a JSON object into a container or list entry.
func (n *Node) merge(v any) error {
	o, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("%s: want a JSON object, have %T", n.Schema.Path(), v)
	}
	for name, value := range o {
		c, err := n.Schema.child(name)
		if err != nil {
			return err
		}
		if value == nil {
			return fmt.Errorf("%s: null is no value", c.Path())
		}
		if !c.Config {
			return fmt.Errorf("%s is state and cannot be written", c.Path())
		}
		if _, also := o[c.Name]; also && name != c.Name {
			return fmt.Errorf("%s is given twice, with its module and without", c.Path())
		}
		if err := n.mergeMember(c, value); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) mergeMember(c *Schema, value any) error {
	switch c.Kind {
	case Leaf, LeafList:
		return n.setLeaf(c, value)
	case List:
		return n.mergeList(c, value)
	default:
		at, err := n.descend(Elem{Schema: c})
		if err == nil {
			err = at.merge(value)
		}
		n.dropEmpty(c.Name)
		return err
	}
}

func (n *Node) mergeList(c *Schema, value any) error {
	entries, ok := value.([]any)
	if !ok {
		return fmt.Errorf("%s: want a JSON array, have %T", c.Path(), value)
	}
	for _, v := range entries {
		o, ok := v.(map[string]any)
		if !ok {
			return fmt.Errorf("%s: want an array of objects", c.Path())
		}
		keys, err := keysOf(c, o)
		if err != nil {
			return err
		}
		at, err := n.descend(Elem{Schema: c, Keys: keys})
		if err != nil {
			return err
		}
		if err := at.merge(o); err != nil {
			return err
		}
	}
	return nil
}

// keysOf reads the keys of a list entry out of its JSON.
func keysOf(c *Schema, o map[string]any) (map[string]string, error) {
	keys := make(map[string]string, len(c.Keys))
	for _, k := range c.Keys {
		raw, ok := member(o, k)
		if !ok {
			return nil, fmt.Errorf("%s: an entry lacks its key %q", c.Path(), k)
		}
		value, err := leafValue(c.Children[k], raw)
		if err != nil {
			return nil, err
		}
		keys[k] = canonicalKey(text(value))
	}
	return keys, nil
}

// setLeaf writes a value; a leaf-list that is updated keeps what it had (gNMI section 3.4.4).
func (n *Node) setLeaf(s *Schema, v any) error {
	value, err := leafValue(s, v)
	if err != nil {
		return err
	}
	if k, isKey := n.Keys[s.Name]; isKey && canonicalKey(text(value)) != k {
		return fmt.Errorf("%s: key is %q in the path and %v in the value", n.Schema.Path(), k, v)
	}
	if s.Kind == LeafList {
		if old, ok := n.Members[s.Name]; ok {
			value = union(old.Value.([]any), value.([]any))
		}
		if len(value.([]any)) == 0 {
			return nil
		}
	}
	n.Members[s.Name] = &Node{Schema: s, Value: value}
	return nil
}

func union(a, b []any) []any {
	have := make(map[any]bool, len(a)+len(b))
	out := slices.Clone(a)
	for _, v := range a {
		have[v] = true
	}
	for _, v := range b {
		if !have[v] {
			have[v] = true
			out = append(out, v)
		}
	}
	return out
}

func writable(p Path) error {
	if !p.Schema().Config {
		return fmt.Errorf("%s is state and cannot be written", p)
	}
	return nil
}

// isKey is true if a path ends at a key leaf of a list.
func isKey(p Path) bool {
	n := len(p.Elems)
	return n >= 2 && slices.Contains(p.Elems[n-2].Schema.Keys, p.Elems[n-1].Schema.Name)
}
