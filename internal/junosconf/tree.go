package junosconf

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Group is the configuration group that holds everything Millrace writes, so
// that replacing or removing it never touches an operator's own statements.
const Group = "te-managed"

// EntryPath is the path of the group as a managed config entry (internal/configentry).
// Its body is curly-brace text as Tree.Text prints it.
const EntryPath = "cli:/groups/" + Group

// Tree is a configuration.
type Tree struct{ top *node }

// node is a container, a list entry, a leaf or a leaf-list.
type node struct {
	schema *schema
	// keys of a list entry.
	keys []string
	// values of a leaf (one) or a leaf-list.
	values   []string
	children []*node
	// index finds children; nil where it must be made anew.
	index map[place]*node
}

// place is the key that distinguishes children.
type place struct {
	schema *schema
	keys   string
}

func placeOf(s *schema, keys []string) place { return place{s, strings.Join(keys, "\x00")} }

// New is an empty configuration.
func New() *Tree { return &Tree{top: &node{schema: root()}} }

// Empty reports whether nothing is configured.
func (t *Tree) Empty() bool { return len(t.top.children) == 0 }

// Set does what `set WORDS` does: it creates missing containers, replaces leaves, and adds to leaf-lists.
// Nothing is changed when it returns an error.
func (t *Tree) Set(words ...string) error {
	if err := set(t.top.scratch(), words); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(words, " "), err)
	}
	return set(t.top, words)
}

// scratch is an empty node of the same kind: a statement that fits it fits n.
func (n *node) scratch() *node { return &node{schema: n.schema} }

var errNoStatement = errors.New("the statement ends too early")

func set(n *node, words []string) error {
	for len(words) > 0 {
		child, consumed := n.schema.byWord(words[0])
		if child == nil {
			return fmt.Errorf("%q is not known here", words[0])
		}
		if consumed {
			words = words[1:]
		}
		rest, err := setChild(n, child, words)
		if err != nil {
			return fmt.Errorf("%s: %w", child.name, err)
		}
		words = rest
	}
	return nil
}

func setChild(n *node, child *schema, words []string) (rest []string, err error) {
	switch child.kind {
	case container:
		if len(words) == 0 {
			return nil, errNoStatement
		}
		return nil, set(n.child(child), words)
	case list:
		keys, rest, err := takeKeys(child, words)
		if err != nil {
			return nil, err
		}
		return nil, set(n.entry(child, keys), rest)
	case empty:
		n.child(child)
		return words, nil
	case leaf:
		if len(words) == 0 || bracket(words[0]) {
			return nil, errNoStatement
		}
		n.child(child).values = []string{child.spell(words[0])}
		return words[1:], nil
	}
	values, rest, err := takeValues(words)
	if err != nil {
		return nil, err
	}
	for _, v := range values {
		n.child(child).add(child.spell(v))
	}
	return rest, nil
}

// takeKeys: one key is written bare, several with their names.
func takeKeys(s *schema, words []string) (keys, rest []string, err error) {
	for _, name := range s.keys {
		if len(s.keys) > 1 {
			if len(words) == 0 || words[0] != name {
				return nil, nil, fmt.Errorf("%s must follow", name)
			}
			words = words[1:]
		}
		if len(words) == 0 || bracket(words[0]) {
			return nil, nil, errNoStatement
		}
		keys, words = append(keys, words[0]), words[1:]
	}
	return keys, words, nil
}

// takeValues reads one value, or several in brackets.
func takeValues(words []string) (values, rest []string, err error) {
	if len(words) == 0 {
		return nil, nil, errNoStatement
	}
	if words[0] == "]" {
		return nil, nil, errNoStatement
	}
	if words[0] != "[" {
		return words[:1], words[1:], nil
	}
	end := slices.Index(words, "]")
	if end < 2 || slices.Contains(words[1:end], "[") {
		return nil, nil, errors.New("the list in brackets does not end, or is empty")
	}
	return words[1:end], words[end+1:], nil
}

func bracket(word string) bool { return word == "[" || word == "]" }

func (n *node) find(s *schema, keys []string) *node {
	if n.index == nil {
		n.index = make(map[place]*node, len(n.children))
		for _, c := range n.children {
			n.index[placeOf(c.schema, c.keys)] = c
		}
	}
	return n.index[placeOf(s, keys)]
}

// child is a container or leaf, made where it is not there; entry is one of a list.
func (n *node) child(s *schema) *node { return n.entry(s, nil) }

func (n *node) entry(s *schema, keys []string) *node {
	c := n.find(s, keys)
	if c == nil {
		c = &node{schema: s, keys: keys}
		n.insert(c)
	}
	return c
}

func (n *node) add(value string) {
	if !slices.Contains(n.values, value) || n.schema.number {
		n.values = append(n.values, value)
	}
}

// insert keeps children in the schema's order, and entries of unordered lists by their keys.
func (n *node) insert(c *node) {
	at := sort.Search(len(n.children), func(i int) bool { return before(c, n.children[i]) })
	n.children = slices.Insert(n.children, at, c)
	n.index[placeOf(c.schema, c.keys)] = c
}

func before(a, b *node) bool {
	if a.schema != b.schema {
		return a.schema.order < b.schema.order
	}
	return !a.schema.ordered && slices.CompareFunc(a.keys, b.keys, naturally) < 0
}

// naturally puts xe-0/0/2 before xe-0/0/10.
func naturally(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	for i > 0 && digit(a[i-1]) {
		i--
	}
	if x, y := number(a[i:]), number(b[i:]); x >= 0 && y >= 0 && x != y {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(a, b)
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// number is the value of the digits a string begins with; -1: none.
func number(s string) int {
	n := -1
	for i := 0; i < len(s) && i < 9 && digit(s[i]); i++ {
		n = max(n, 0)*10 + int(s[i]-'0')
	}
	return n
}

// Merge adds all of other, as loading it onto t does.
func (t *Tree) Merge(other *Tree) {
	for _, words := range other.statements() {
		if err := set(t.top, words); err != nil {
			panic(err) // it was set once
		}
	}
}

// Delete does what `delete WORDS` does for a container, a list entry or a
// leaf; false: it was not there.
func (t *Tree) Delete(words ...string) bool {
	found := remove(t.top, words)
	t.top.prune()
	return found
}

func remove(n *node, words []string) bool {
	n.index = nil
	for i, c := range n.children {
		rest, fits := c.follow(words)
		switch {
		case !fits:
		case len(rest) == 0:
			n.children = slices.Delete(n.children, i, i+1)
			return true
		case c.schema.kind == leafList && slices.Contains(c.values, rest[0]):
			c.values = slices.DeleteFunc(c.values, func(v string) bool { return v == rest[0] })
			if len(c.values) == 0 {
				n.children = slices.Delete(n.children, i, i+1)
			}
			return true
		default:
			if found := remove(c, rest); found {
				return true
			}
		}
	}
	return false
}

// follow takes the words that name n off the front.
func (n *node) follow(words []string) ([]string, bool) {
	head := n.head()
	if len(words) < len(head) || !slices.Equal(words[:len(head)], head) {
		return nil, false
	}
	return words[len(head):], true
}

// head is how a node begins on the command line.
func (n *node) head() []string {
	var out []string
	if !n.schema.hidden {
		out = append(out, n.schema.name)
	}
	for i, key := range n.keys {
		if len(n.keys) > 1 {
			out = append(out, n.schema.keys[i])
		}
		out = append(out, key)
	}
	return out
}
