package junosconf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// JSON is the configuration in the encoding of RFC 7951: names with their module where another begins,
// [null] for leaves without a value, numbers as numbers where Juniper's YANG has them.
func (t *Tree) JSON() ([]byte, error) {
	return json.MarshalIndent(map[string]any{root().module + ":" + root().name: members(t.top)}, "", "  ")
}

func members(n *node) map[string]any {
	out := map[string]any{}
	for _, c := range n.children {
		name := c.schema.name
		if c.schema.module != n.schema.module {
			name = c.schema.module + ":" + name
		}
		switch c.schema.kind {
		case container:
			out[name] = members(c)
		case list:
			entry := members(c)
			for i, key := range c.keys {
				entry[c.schema.keys[i]] = value(c.schema, key)
			}
			entries, _ := out[name].([]any)
			out[name] = append(entries, entry)
		case empty:
			out[name] = []any{nil}
		case leaf:
			out[name] = value(c.schema, c.values[0])
		case leafList:
			var values []any
			for _, v := range c.values {
				values = append(values, value(c.schema, v))
			}
			out[name] = values
		}
	}
	return out
}

func value(s *schema, text string) any {
	if n, err := strconv.ParseUint(text, 10, 64); s.number && err == nil {
		return n
	}
	return text
}

// FromJSON reads what JSON writes, and what routers answer: with or without
// modules, and with numbers as strings or strings as numbers.
func FromJSON(raw []byte) (*Tree, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("decode the configuration: %w", err)
	}
	t := New()
	for name, inner := range v {
		if bareName(name) == root().name {
			inner, ok := inner.(map[string]any)
			if !ok {
				return nil, errors.New("decode the configuration: it is no object")
			}
			return t, fill(t.top, inner)
		}
	}
	return t, fill(t.top, v)
}

func bareName(s string) string { return s[strings.LastIndex(s, ":")+1:] }

func fill(n *node, object map[string]any) error {
	for name, v := range object {
		name = bareName(name)
		child := n.schema.byName(name)
		if child == nil {
			return fmt.Errorf("%s is not known here", name)
		}
		if err := fillChild(n, child, v); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func fillChild(n *node, child *schema, v any) error {
	switch child.kind {
	case container:
		object, ok := v.(map[string]any)
		if !ok {
			return errors.New("no object")
		}
		return fill(n.child(child), object)
	case list:
		return fillList(n, child, v)
	case empty:
		n.child(child)
		return nil
	case leaf:
		n.child(child).values = []string{child.spell(fmt.Sprint(v))}
		return nil
	}
	values, ok := v.([]any)
	if !ok {
		values = []any{v}
	}
	for _, each := range values {
		n.child(child).add(child.spell(fmt.Sprint(each)))
	}
	return nil
}

func fillList(n *node, child *schema, v any) error {
	entries, ok := v.([]any)
	if !ok {
		return errors.New("no list")
	}
	for _, each := range entries {
		object, ok := each.(map[string]any)
		if !ok {
			return errors.New("an entry is no object")
		}
		keys := make([]string, len(child.keys))
		for i, name := range child.keys {
			key, ok := object[name]
			if !ok {
				return fmt.Errorf("an entry lacks %s", name)
			}
			keys[i] = fmt.Sprint(key)
			delete(object, name)
		}
		if err := fill(n.entry(child, keys), object); err != nil {
			return err
		}
	}
	return nil
}

// Elem is one element of a leaf's path below /configuration.
type Elem struct {
	Name string
	Keys map[string]string
}

// SetLeaf takes one value a router sent, by its path in YANG: a leaf's, or the
// JSON of all below the path.
func (t *Tree) SetLeaf(path []Elem, value any) error {
	n := t.top
	for i, e := range path {
		child, last := n.schema.byName(bareName(e.Name)), i == len(path)-1
		switch {
		case child == nil:
			return fmt.Errorf("%s is not known here", e.Name)
		case child.kind == container && last:
			return fillChild(n, child, value)
		case child.kind == container:
			n = n.child(child)
		case child.kind == list && len(e.Keys) < len(child.keys):
			return fillChild(n, child, value)
		case child.kind == list:
			n = n.entry(child, keysOf(child, e))
			if object, ok := value.(map[string]any); ok && last {
				for _, key := range child.keys {
					delete(object, key)
				}
				return fill(n, object)
			}
			if !last && slices.Contains(child.keys, path[i+1].Name) {
				return nil // the key's own leaf
			}
		case !last:
			return fmt.Errorf("%s is a leaf", e.Name)
		default:
			return fillChild(n, child, value)
		}
	}
	return nil
}

func keysOf(s *schema, e Elem) []string {
	keys := make([]string, len(s.keys))
	for i, name := range s.keys {
		keys[i] = e.Keys[name]
	}
	return keys
}

// Leaf is one value with its path.
type Leaf struct {
	Path  []Elem
	Value string
}

// Leaves are the tree as a router streams it: every leaf by itself, the keys of
// list entries among them.
func (t *Tree) Leaves() []Leaf {
	var out []Leaf
	leaves(t.top, nil, &out)
	return out
}

func leaves(n *node, path []Elem, out *[]Leaf) {
	for _, c := range n.children {
		e := Elem{Name: c.schema.name}
		at := append(path[:len(path):len(path)], e)
		if c.schema.kind == list {
			e.Keys = map[string]string{}
			at[len(at)-1] = e
			for i, key := range c.schema.keys {
				e.Keys[key] = c.keys[i]
				*out = append(*out, Leaf{append(at[:len(at):len(at)], Elem{Name: key}), c.keys[i]})
			}
		}
		if c.schema.kind == empty {
			*out = append(*out, Leaf{Path: at})
		}
		for _, v := range c.values {
			*out = append(*out, Leaf{at, v})
		}
		leaves(c, at, out)
	}
}
