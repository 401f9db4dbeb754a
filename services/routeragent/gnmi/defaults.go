package gnmi

import (
	"strings"
	"sync"

	"github.com/openconfig/goyang/pkg/yang"

	"github.com/millrace/millrace/services/routeragent/intent"
	"github.com/millrace/millrace/services/routeragent/oc"
	"github.com/millrace/millrace/services/routeragent/tree"
)

// A leaf that is not set and has a default in the model has that value (RFC 7950
// section 7.6.1), and who asks for it gets it (sections 3.3.4 and 3.5.2.3).
// Subtrees are answered in the manner RFC 6243 calls "explicit": what was set,
// so that a client reads back what it wrote.

// defaults are the values of leaves that the agent can be configured with, by schema.
var defaults = sync.OnceValue(func() map[*tree.Schema]any {
	out := map[*tree.Schema]any{}
	collectDefaults(tree.Root(), oc.SchemaTree["Device"], out)
	return out
})

func collectDefaults(s *tree.Schema, e *yang.Entry, into map[*tree.Schema]any) {
	for _, c := range s.Children {
		ce := e.Dir[c.Name]
		if ce == nil {
			continue
		}
		if values := ce.DefaultValues(); c.Kind == tree.Leaf && len(values) == 1 && intent.Supported[c.Path()] {
			into[c] = defaultValue(c, values[0])
		}
		collectDefaults(c, ce, into)
	}
}

func defaultValue(s *tree.Schema, text string) any {
	switch s.Type.Kind {
	case yang.Ybool:
		return text == "true"
	case yang.Yidentityref:
		name := text[strings.Index(text, ":")+1:]
		return moduleOf(name) + ":" + name
	}
	return text
}

// moduleOf finds the module that defines an identity.
func moduleOf(identity string) string {
	for _, enum := range oc.ΛEnum {
		for _, d := range enum {
			if d.Name == identity && d.DefiningModule != "" {
				return d.DefiningModule
			}
		}
	}
	return ""
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
