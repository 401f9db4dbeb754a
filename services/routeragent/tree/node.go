package tree

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Node is data: a container or list entry with members, a list with entries, or a leaf with a value.
type Node struct {
	Schema *Schema
	// Members of a container or list entry by name; entries of a list by entryKey.
	Members map[string]*Node
	// Keys of a list entry.
	Keys map[string]string
	// Value of a leaf as RFC 7951 spells it: string, bool, json.Number; of a leaf-list []any.
	Value any

	owner *owner // the tree that may change this node; see Fork
}

// New is an empty device.
func New() *Node { return newNode(Root()) }

func newNode(s *Schema) *Node { return &Node{Schema: s, Members: map[string]*Node{}} }

// owner distinguishes forks of a tree.
type owner struct{ _ byte }

// Fork is a copy to be edited. It shares with the original what nobody edits: an
// edit copies the nodes on its path and no others, so that a change costs as
// much as it changes. The original must not be edited any more.
func (n *Node) Fork() *Node {
	c := *n
	c.owner = &owner{}
	c.Members = maps.Clone(n.Members)
	return &c
}

// Settle puts back what an edit replaced by the same: a Set that says again what
// is there shares it with the configuration it was forked from, and the readers
// that go by shared nodes (Validator, compiler, journal) see no change. So do readings of
// state that follow each other: what did not change is kept once.
func (n *Node) Settle(base *Node) { n.settle(base) }

func (n *Node) settle(base *Node) (same bool) {
	if n == base {
		return true
	}
	if n.Members == nil || base.Members == nil {
		return n.Members == nil && base.Members == nil && sameValue(n.Value, base.Value)
	}
	same = len(n.Members) == len(base.Members)
	for name, m := range n.Members {
		switch b := base.Members[name]; {
		case b == m:
		case m.Members != nil && m.owner != n.owner:
			same = false // it belongs to another tree, and is no equal one's
		case b != nil && m.settle(b):
			n.Members[name] = b
		default:
			same = false
		}
	}
	return same
}

// own is a member that may be changed in place, copied first if it is shared with another tree; nil if there is none.
func (n *Node) own(name string) *Node {
	m := n.Members[name]
	if m == nil || m.owner == n.owner {
		return m
	}
	c := *m
	c.owner, c.Members = n.owner, maps.Clone(m.Members)
	n.Members[name] = &c
	return &c
}

// add makes an empty member that this tree owns.
func (n *Node) add(name string, s *Schema) *Node {
	m := newNode(s)
	m.owner = n.owner
	n.Members[name] = m
	return m
}

func entryKey(s *Schema, keys map[string]string) string {
	if len(s.Keys) == 1 {
		return keys[s.Keys[0]]
	}
	parts := make([]string, len(s.Keys))
	for i, k := range s.Keys {
		parts[i] = keys[k]
	}
	return strings.Join(parts, "\x00")
}

// isEntry is true for a list entry, as opposed to the list.
func (n *Node) isEntry() bool { return n.Schema.Kind == List && n.Keys != nil }

// empty is true for a container without data.
func (n *Node) empty() bool {
	return n.Schema.Kind != Leaf && n.Schema.Kind != LeafList && !n.isEntry() && len(n.Members) == 0
}

// names lists members in a stable order.
func (n *Node) names() []string { return slices.Sorted(maps.Keys(n.Members)) }

// Match is a node with its path.
type Match struct {
	Path Path
	Node *Node
}

// Find returns what a path selects, wildcards expanded, in a stable order.
func (n *Node) Find(p Path) []Match { return n.find(Path{}, p.Elems) }

func (n *Node) find(at Path, rest []Elem) []Match {
	if len(rest) == 0 {
		return []Match{{at, n}}
	}
	e := rest[0]
	m, ok := n.Members[e.Schema.Name]
	if !ok {
		return nil
	}
	if e.Schema.Kind != List {
		return m.find(at.with(e.Schema, nil), rest[1:])
	}
	var out []Match
	for _, key := range m.selected(e) {
		entry := m.Members[key]
		out = append(out, entry.find(at.with(e.Schema, entry.Keys), rest[1:])...)
	}
	return out
}

// selected lists the ids of a list's entries that an element of a path selects.
func (n *Node) selected(e Elem) []string {
	if e.concrete() {
		if id := entryKey(e.Schema, e.Keys); n.Members[id] != nil {
			return []string{id}
		}
		return nil
	}
	var out []string
	for _, id := range n.names() {
		if keysMatch(e.Keys, n.Members[id].Keys) {
			out = append(out, id)
		}
	}
	return out
}

func keysMatch(want, have map[string]string) bool {
	for k, v := range want {
		if v != "*" && v != have[k] {
			return false
		}
	}
	return true
}

// Leaves calls f for every leaf at and under a match, in a stable order.
func (m Match) Leaves(f func(Match)) {
	switch {
	case m.Node.Schema.Kind == Leaf || m.Node.Schema.Kind == LeafList:
		f(m)
	case m.Node.Schema.Kind == List && !m.Node.isEntry():
		for _, k := range m.Node.names() {
			e := m.Node.Members[k]
			p := m.Path
			p.Elems = slices.Clone(p.Elems)
			p.Elems[len(p.Elems)-1].Keys = e.Keys
			Match{p, e}.Leaves(f)
		}
	default:
		for _, name := range m.Node.names() {
			c := m.Node.Members[name]
			if c.Schema.Kind == List {
				for _, k := range c.names() {
					e := c.Members[k]
					Match{m.Path.with(c.Schema, e.Keys), e}.Leaves(f)
				}
				continue
			}
			Match{m.Path.with(c.Schema, nil), c}.Leaves(f)
		}
	}
}

// Merge adds the data of another tree; where both have a leaf the other's stands.
func (n *Node) Merge(other *Node) {
	for k, o := range other.Members {
		mine, ok := n.Members[k]
		if !ok {
			n.Members[k] = o
			continue
		}
		if mine.Members == nil {
			n.Members[k] = o
			continue
		}
		mine.Merge(o)
	}
}

// Entries of a list in the order of their keys, numeric keys by number.
func (n *Node) Entries() []*Node {
	type keyed struct {
		entry  *Node
		number uint64
		isOne  bool
	}
	first := n.Schema.Keys[0]
	list := make([]keyed, 0, len(n.Members))
	for _, e := range n.Members {
		number, err := strconv.ParseUint(e.Keys[first], 10, 64)
		list = append(list, keyed{e, number, err == nil})
	}
	slices.SortFunc(list, func(a, b keyed) int {
		if a.isOne && b.isOne && a.number != b.number {
			return cmp.Compare(a.number, b.number)
		}
		return compareKeys(n.Schema.Keys, a.entry, b.entry)
	})
	out := make([]*Node, len(list))
	for i, k := range list {
		out[i] = k.entry
	}
	return out
}

func compareKeys(keys []string, a, b *Node) int {
	for _, k := range keys {
		x, y := a.Keys[k], b.Keys[k]
		i, err1 := strconv.ParseUint(x, 10, 64)
		j, err2 := strconv.ParseUint(y, 10, 64)
		c := strings.Compare(x, y)
		if err1 == nil && err2 == nil {
			c = cmp.Compare(i, j)
		}
		if c != 0 {
			return c
		}
	}
	return 0
}
