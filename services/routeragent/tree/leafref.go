package tree

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/openconfig/goyang/pkg/yang"
)

// References are checked here and not by ygot, which walks the whole tree for
// every reference: with 5,000 rules that is 10 s, this is one walk.

// predicates select among list entries; whether the entry is the right one is the compiler's to say, existence is asked here.
var predicates = regexp.MustCompile(`\[[^\]]*\]`)

// referred finds the leaf a leafref points at; nil if the schema was trimmed of it.
func referred(s *Schema) *Schema {
	path := predicates.ReplaceAllString(s.Type.Path, "")
	at := s
	if strings.HasPrefix(path, "/") {
		at = Root()
	}
	for _, step := range strings.Split(strings.Trim(path, "/"), "/") {
		if _, bare, ok := strings.Cut(step, ":"); ok {
			step = bare
		}
		if step == ".." {
			at = at.Parent
		} else {
			at = at.Children[step]
		}
		if at == nil {
			return nil
		}
	}
	return at
}

// targets are the leaves that something refers to, by the leaf that does.
var targets = sync.OnceValue(func() map[*Schema]*Schema {
	out := map[*Schema]*Schema{}
	var walk func(*Schema)
	walk = func(s *Schema) {
		if s.Type != nil && s.Type.Kind == yang.Yleafref && s.Config {
			if t := referred(s); t != nil {
				out[s] = t
			}
		}
		for _, c := range s.Children {
			walk(c)
		}
	}
	walk(Root())
	return out
})

// checkReferences finds a key that differs from its config leaf, or a reference to what does not exist.
func (n *Node) checkReferences() error {
	wanted := map[*Schema]map[string]bool{}
	for _, t := range targets() {
		wanted[t] = map[string]bool{}
	}
	var refs []Match
	Match{Node: n}.Leaves(func(m Match) {
		if have, ok := wanted[m.Node.Schema]; ok {
			have[fmt.Sprint(m.Node.Value)] = true
		}
		if targets()[m.Node.Schema] != nil && !m.Path.IsListKey() {
			refs = append(refs, m)
		}
	})
	if err := n.checkKeys(Path{}); err != nil {
		return err
	}
	for _, m := range refs {
		values, list := m.Node.Value.([]any)
		if !list {
			values = []any{m.Node.Value}
		}
		target := targets()[m.Node.Schema]
		for _, v := range values {
			if !wanted[target][fmt.Sprint(v)] {
				return fmt.Errorf("%s refers to %q, which is not among %s", m.Path, fmt.Sprint(v), target.Path())
			}
		}
	}
	return nil
}

// checkKeys compares the key of every list entry with the leaf in config that it is a leafref to.
func (n *Node) checkKeys(at Path) error {
	for _, name := range n.names() {
		m := n.Members[name]
		switch {
		case m.Members == nil:
		case m.Schema.Kind == List:
			for _, id := range m.names() {
				e := m.Members[id]
				p := at.with(m.Schema, e.Keys)
				if err := e.checkKey(p); err != nil {
					return err
				}
				if err := e.checkKeys(p); err != nil {
					return err
				}
			}
		default:
			if err := m.checkKeys(at.with(m.Schema, nil)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (n *Node) checkKey(at Path) error {
	for k, v := range n.Keys {
		cs := n.Schema.Children["config"]
		if cs == nil || cs.Children[k] == nil {
			continue
		}
		c := n.Members["config"]
		if c == nil || c.Members[k] == nil {
			return fmt.Errorf("%s has no config/%s", at, k)
		}
		if have := canonicalKey(fmt.Sprint(c.Members[k].Value)); have != v {
			return fmt.Errorf("%s has config/%s %q", at, k, have)
		}
	}
	return nil
}
