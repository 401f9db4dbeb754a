// Package junosconf is Junos configuration as a tree: the few statements that
// Millrace writes, by the names of Juniper's YANG modules.
//
// In: statements as `set` lines, curly-brace text, or leaves a router sent. Out:
// a Tree, and the same as text, as `set` lines or as RFC 7951 JSON, each printed
// from the one tree. Next: services/policy/render/junos builds trees,
// internal/junosconf/lint checks them, services/push/driver/junos sends them.
package junosconf

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// kind of a node of the schema.
type kind uint8

const (
	container kind = iota
	list
	leaf
	empty
	leafList
)

// schema is one node of schema.txt.
type schema struct {
	name     string
	kind     kind
	module   string
	keys     []string
	children []*schema
	// order among its siblings.
	order int
	// ordered lists keep the order in which they were written.
	ordered, hidden, number bool
	// spell writes a value in the one way it is kept and compared.
	spell func(string) string
}

//go:embed schema.txt
var schemaText string

// root is the schema of /configuration.
var root = sync.OnceValue(func() *schema {
	s, err := parseSchema(schemaText)
	if err != nil {
		panic(err) // the file is part of the program
	}
	return s
})

var marks = map[string]schema{
	"+": {kind: container}, "*": {kind: list}, "*>": {kind: list, ordered: true}, "-": {kind: leaf}, "!": {kind: empty}, "=": {kind: leafList},
}

func parseSchema(text string) (*schema, error) {
	var stack []*schema
	for n, line := range strings.Split(text, "\n") {
		body := strings.TrimLeft(line, " ")
		if body == "" || strings.HasPrefix(body, "#") {
			continue
		}
		depth := (len(line) - len(body)) / 2
		node, err := parseNode(strings.Fields(body))
		if err != nil || depth > len(stack) {
			return nil, fmt.Errorf("schema.txt:%d: %q: %v", n+1, line, err)
		}
		stack = stack[:depth]
		if depth > 0 {
			parent := stack[depth-1]
			node.order = len(parent.children)
			if node.module == "" {
				node.module = parent.module
			}
			parent.children = append(parent.children, node)
		}
		stack = append(stack, node)
	}
	return stack[0], nil
}

func parseNode(words []string) (*schema, error) {
	mark, ok := marks[words[0]]
	if !ok || len(words) < 2 {
		return nil, fmt.Errorf("no node begins with %q", words[0])
	}
	node := mark
	node.name, node.spell = words[1], func(s string) string { return s }
	for _, w := range words[2:] {
		module, begins := strings.CutPrefix(w, "@")
		spell, spelled := spellings[w]
		switch {
		case begins:
			node.module = module
		case w == "hidden":
			node.hidden = true
		case w == "number":
			node.number = true
		case spelled:
			node.spell = spell
		case node.kind == list:
			node.keys = append(node.keys, w)
		default:
			return nil, fmt.Errorf("%q has no meaning here", w)
		}
	}
	return &node, nil
}

// byName finds a child by its name in YANG.
func (s *schema) byName(name string) *schema {
	i := slices.IndexFunc(s.children, func(c *schema) bool { return c.name == name })
	if i < 0 {
		return nil
	}
	return s.children[i]
}

// byWord finds the child a word of the command line begins; hidden ones take
// any word that names no other, and consume it.
func (s *schema) byWord(word string) (child *schema, consumed bool) {
	for _, c := range s.children {
		if c.name == word && !c.hidden {
			return c, true
		}
	}
	for _, c := range s.children {
		if c.hidden {
			return c, false
		}
	}
	return nil, false
}
