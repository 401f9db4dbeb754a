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
		clear(n.Members)
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
	m, ok := n.Members[e.Schema.Name]
	if !ok {
		return
	}
	switch {
	case e.Schema.Kind == List:
		for _, id := range m.selected(e) {
			if len(rest) == 1 {
				delete(m.Members, id)
			} else {
				m.Members[id].remove(rest[1:])
			}
		}
	case len(rest) == 1:
		delete(n.Members, e.Schema.Name)
		return
	default:
		m.remove(rest[1:])
	}
	if m.empty() {
		delete(n.Members, e.Schema.Name)
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
		clear(n.Members)
	} else if replace {
		n.remove(p.Elems)
	}
	at := n
	for i, e := range p.Elems {
		last := i == len(p.Elems)-1
		if last && (e.Schema.Kind == Leaf || e.Schema.Kind == LeafList) {
			return at.setLeaf(e.Schema, v)
		}
		at = at.descend(e)
	}
	return at.merge(v)
}

// descend finds or makes a container or list entry; an entry comes with its key leaves.
func (n *Node) descend(e Elem) *Node {
	m, ok := n.Members[e.Schema.Name]
	if !ok {
		m = newNode(e.Schema)
		n.Members[e.Schema.Name] = m
	}
	if e.Schema.Kind != List {
		return m
	}
	key := entryKey(e.Schema, e.Keys)
	entry, ok := m.Members[key]
	if !ok {
		entry = newNode(e.Schema)
		entry.Keys = e.Keys
		for _, k := range e.Schema.Keys {
			s := e.Schema.Children[k]
			entry.Members[k] = &Node{Schema: s, Value: keyValue(s, e.Keys[k])}
			// The key is a leafref to config/<key>; a path that makes an entry makes both.
			if c := e.Schema.Children["config"]; c != nil && c.Config && c.Children[k] != nil {
				cn := entry.descend(Elem{Schema: c})
				cn.Members[k] = &Node{Schema: c.Children[k], Value: keyValue(c.Children[k], e.Keys[k])}
			}
		}
		m.Members[key] = entry
	}
	return entry
}

// merge writes a JSON object into a container or list entry.
func (n *Node) merge(v any) error {
	o, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("%s: want a JSON object, have %T", n.Schema.Path(), v)
	}
	for _, name := range sortedNames(o) {
		value := o[name]
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
		if err := n.mergeMember(c, value); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) mergeMember(c *Schema, value any) error {
	switch c.Kind {
	case Leaf, LeafList:
		if k, isKey := n.Keys[c.Name]; isKey {
			if text, err := leafText(c, value); err != nil || canonicalKey(text) != k {
				return fmt.Errorf("%s: key is %q in the path and %v in the value", n.Schema.Path(), k, value)
			}
		}
		return n.setLeaf(c, value)
	case List:
		return n.mergeList(c, value)
	default:
		return n.descend(Elem{Schema: c}).merge(value)
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
		keys := map[string]string{}
		for _, k := range c.Keys {
			raw, ok := member(o, k)
			if !ok {
				return fmt.Errorf("%s: an entry lacks its key %q", c.Path(), k)
			}
			text, err := leafText(c.Children[k], raw)
			if err != nil {
				return err
			}
			keys[k] = canonicalKey(text)
		}
		if err := n.descend(Elem{Schema: c, Keys: keys}).merge(o); err != nil {
			return err
		}
	}
	return nil
}

// setLeaf writes a value; a leaf-list that is updated keeps what it had (gNMI section 3.4.4).
func (n *Node) setLeaf(s *Schema, v any) error {
	value, err := leafValue(s, v)
	if err != nil {
		return err
	}
	if s.Kind == LeafList {
		if old, ok := n.Members[s.Name]; ok {
			value = union(old.Value.([]any), value.([]any))
		}
	}
	n.Members[s.Name] = &Node{Schema: s, Value: value}
	return nil
}

func union(a, b []any) []any {
	out := slices.Clone(a)
	for _, v := range b {
		if !slices.Contains(out, v) {
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
