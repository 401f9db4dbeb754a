package tree

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Into finds or makes the containers named, for providers of state. Names are
// the provider's own: one the schema does not have is a programmer's error.
func (n *Node) Into(names ...string) *Node {
	for _, name := range names {
		c := n.must(name)
		m, ok := n.Members[name]
		if !ok {
			m = newNode(c)
			n.Members[name] = m
		}
		n = m
	}
	return n
}

// Entry finds or makes an entry of the list below n; key values are given in the order of the model.
func (n *Node) Entry(list string, values ...string) *Node {
	l := n.Into(list)
	keys := map[string]string{}
	for i, k := range l.Schema.Keys {
		keys[k] = canonicalKey(values[i])
	}
	id := entryKey(l.Schema, keys)
	e, ok := l.Members[id]
	if !ok {
		e = newNode(l.Schema)
		e.Keys = keys
		for i, k := range l.Schema.Keys {
			s := e.must(k)
			e.Members[k] = &Node{Schema: s, Value: s.Type.FromText(values[i])}
		}
		l.Members[id] = e
	}
	return e
}

// Set writes a leaf: string, bool or an unsigned number.
func (n *Node) Set(name string, v any) *Node {
	s := n.must(name)
	switch x := v.(type) {
	case uint64:
		v = number(s, x)
	case uint32:
		v = number(s, uint64(x))
	case int:
		v = number(s, uint64(x))
	}
	n.Members[name] = &Node{Schema: s, Value: v}
	return n
}

func number(s *Schema, x uint64) any {
	text := strconv.FormatUint(x, 10)
	if s.Type.Is64() {
		return text
	}
	return json.Number(text)
}

func (n *Node) must(name string) *Schema {
	c, ok := n.Schema.Children[name]
	if !ok {
		panic(fmt.Sprintf("tree: %s has no %s", n.Schema.Path(), name))
	}
	return c
}
