package gnmi

import (
	"sync"

	"github.com/millrace/millrace/services/routeragent/intent"
	"github.com/millrace/millrace/services/routeragent/tree"
)

// A leaf that is not set and has a default in the model has that value (RFC 7950
// section 7.6.1), and a client that requests it gets it (sections 3.3.4 and 3.5.2.3).
// Subtrees are answered in the manner RFC 6243 calls "explicit": what was set,
// so that a client reads back what it wrote.

// defaults are the values of leaves that the agent can be configured with, by schema.
var defaults = sync.OnceValue(func() map[*tree.Schema]any {
	out := map[*tree.Schema]any{}
	collectDefaults(tree.Root(), out)
	return out
})

func collectDefaults(s *tree.Schema, into map[*tree.Schema]any) {
	for _, c := range s.Children {
		if v, ok := c.Default(); ok && intent.Supported[c.Path()] {
			into[c] = v
		}
		collectDefaults(c, into)
	}
}

// unset finds the leaves that a path ends at, that are not set and have a default in use: their list entry exists.
func unset(data *tree.Node, p tree.Path, keep tree.Filter) []tree.Match {
	value, ok := defaults()[p.Schema()]
	if !ok || !keep(p.Schema()) {
		return nil
	}
	entry := len(p.Elems)
	for entry > 0 && p.Elems[entry-1].Schema.Kind != tree.List {
		entry--
	}
	var out []tree.Match
	for _, m := range data.Find(tree.Path{Elems: p.Elems[:entry]}) {
		at := tree.Path{Elems: append(append([]tree.Elem{}, m.Path.Elems...), p.Elems[entry:]...)}
		if len(data.Find(at)) == 0 {
			out = append(out, tree.Match{Path: at, Node: &tree.Node{Schema: p.Schema(), Value: value}})
		}
	}
	return out
}
