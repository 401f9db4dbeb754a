package junosconf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// JSON is the configuration as RFC 7951 wants it: names with their module where
// another begins, [null] for leaves without a value, numbers as numbers where
// Juniper's YANG has them.
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

// SetLeaf takes one leaf a router sent, by its path in YANG.
func (t *Tree) SetLeaf(path []Elem, value string) error {
	n := t.top
	for i, e := range path {
		child := n.schema.byName(bareName(e.Name))
		if child == nil {
			return fmt.Errorf("%s is not known here", e.Name)
		}
		switch child.kind {
		case container:
			n = n.child(child)
		case list:
			keys := make([]string, len(child.keys))
			for k, name := range child.keys {
				keys[k] = e.Keys[name]
			}
			n = n.entry(child, keys)
			if i == len(path)-2 && contains(child.keys, path[i+1].Name) {
				return nil // the key's own leaf
			}
		default:
			if i != len(path)-1 {
				return fmt.Errorf("%s is a leaf", e.Name)
			}
			return fillChild(n, child, value)
		}
	}
	return nil
}

func contains(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}
