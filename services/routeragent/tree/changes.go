package tree

import (
	"iter"
	"slices"
)

// Changes lists what leads from a to b at and under a path, as a subscriber wants to hear it: the leaves that are new
// or have another value; of what is gone, the list entries, or the leaves where the entry they are in remains. Leaves
// that keep does not keep do not count. What the trees share is not looked at.
func Changes(a, b *Node, p Path, keep Filter) (gone []Path, written []Match) {
	c := changes{keep: keep}
	c.along(Path{}, a, b, p.Elems)
	return c.gone, c.written
}

type changes struct {
	keep    Filter
	gone    []Path
	written []Match
}

// along follows the path down both trees; one of the two nodes may be nil.
func (c *changes) along(at Path, a, b *Node, rest []Elem) {
	if a == b {
		return
	}
	if len(rest) == 0 {
		c.between(at, a, b)
		return
	}
	e := rest[0]
	x, y := a.member(e.Schema.Name), b.member(e.Schema.Name)
	if e.Schema.Kind != List {
		c.along(at.with(e.Schema, nil), x, y, rest[1:])
		return
	}
	for id, keys := range entriesOf(x, y) {
		if keysMatch(e.Keys, keys) {
			c.along(at.with(e.Schema, keys), x.member(id), y.member(id), rest[1:])
		}
	}
}

func (c *changes) between(at Path, a, b *Node) {
	switch {
	case b == nil:
		c.lost(at, a)
	case b.Members == nil:
		if c.keep(b.Schema) && (a == nil || !sameValue(a.Value, b.Value)) {
			c.written = append(c.written, Match{at, b})
		}
	default:
		for name, s := range b.Schema.Children {
			x, y := a.member(name), b.member(name)
			if x == y {
				continue
			}
			if s.Kind != List {
				c.between(at.with(s, nil), x, y)
				continue
			}
			for id, keys := range entriesOf(x, y) {
				c.between(at.with(s, keys), x.member(id), y.member(id))
			}
		}
	}
}

// lost tells of a subtree that is gone.
func (c *changes) lost(at Path, n *Node) {
	switch {
	case n.Members == nil && c.keep(n.Schema), n.isEntry() && c.keeps(n):
		c.gone = append(c.gone, at)
	case n.Members == nil || n.isEntry():
	case n.Schema.Kind == List:
		for _, e := range n.Members {
			c.lost(at.with(n.Schema, e.Keys), e)
		}
	default:
		for _, m := range n.Members {
			if m.Schema.Kind == List {
				c.lost(at, m) // the step to a list is that to its entries
				continue
			}
			c.lost(at.with(m.Schema, nil), m)
		}
	}
}

// keeps is true if a leaf under n is kept.
func (c *changes) keeps(n *Node) bool {
	if n.Members == nil {
		return c.keep(n.Schema)
	}
	for _, m := range n.Members {
		if c.keeps(m) {
			return true
		}
	}
	return false
}

// member is a member of a node, or nil; so is the member of no node.
func (n *Node) member(name string) *Node { return n.members()[name] }

// entriesOf are the keys of the entries of two lists that are not the same in both, by id.
func entriesOf(a, b *Node) iter.Seq2[string, map[string]string] {
	return func(yield func(string, map[string]string) bool) {
		for id, e := range a.members() {
			if e != b.member(id) && !yield(id, e.Keys) {
				return
			}
		}
		for id, e := range b.members() {
			if a.member(id) == nil && !yield(id, e.Keys) {
				return
			}
		}
	}
}

// members are those of a node; no node has none.
func (n *Node) members() map[string]*Node {
	if n == nil {
		return nil
	}
	return n.Members
}

func sameValue(a, b any) bool {
	x, list := a.([]any)
	y, both := b.([]any)
	if list && both {
		return slices.Equal(x, y)
	}
	return !list && !both && a == b
}
