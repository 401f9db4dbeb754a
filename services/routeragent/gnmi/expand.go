package gnmi

import (
	"fmt"
	"maps"
	"slices"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/services/routeragent/tree"
)

// Wildcards in place of a name: one level, or any number of levels (path conventions, "Wildcards in paths").
const (
	anyName   = "*"
	anyLevels = "..."
)

// maxElements bounds a path, prefix included. The model is 14 levels deep.
const maxElements = 64

// expand finds everything of the schema that a path with wildcards in place of
// names means; a path without any is itself. Wildcards in keys stay: data
// decides them, not the schema.
func expand(prefix, path *gnmi.Path) ([]*gnmi.Path, error) {
	if n := len(prefix.GetElem()) + len(path.GetElem()); n > maxElements {
		return nil, status.Errorf(codes.InvalidArgument, "a path of %d elements; the longest that is taken has %d", n, maxElements)
	}
	elems := append(slices.Clone(prefix.GetElem()), path.GetElem()...)
	if !slices.ContainsFunc(elems, isWild) {
		return []*gnmi.Path{{Elem: elems}}, nil
	}
	at := matched{match{schema: tree.Root()}: nil}
	for i, e := range elems {
		switch {
		case e.GetName() != anyLevels:
			at = at.children(e)
		case slices.ContainsFunc(elems[i:], func(e *gnmi.PathElem) bool { return e.GetName() != anyLevels }):
			at = at.descendants()
		} // what lies below the last name is in what was found
	}
	if len(at) == 0 {
		return nil, status.Errorf(codes.InvalidArgument, "no node of the data model matches the wildcards of %v", names(elems))
	}
	out := make([]*gnmi.Path, 0, len(at))
	for _, m := range slices.SortedFunc(maps.Keys(at), match.compare) {
		out = append(out, &gnmi.Path{Elem: at[m]})
	}
	return out, nil
}

func isWild(e *gnmi.PathElem) bool { return e.GetName() == anyName || e.GetName() == anyLevels }

func names(elems []*gnmi.PathElem) []string {
	out := make([]string, len(elems))
	for i, e := range elems {
		out[i] = e.GetName()
	}
	return out
}

// match is a node of the schema with the keys that were given on the way to it.
type match struct {
	schema *tree.Schema
	keys   string
}

func (m match) compare(o match) int {
	return slices.Compare([]string{m.schema.Path(), m.keys}, []string{o.schema.Path(), o.keys})
}

// matched are the nodes that the elements so far match, each once, in however many ways they match it.
type matched map[match][]*gnmi.PathElem

// children are the nodes one level below that an element names.
func (at matched) children(e *gnmi.PathElem) matched {
	next := matched{}
	for m, path := range at {
		for name, c := range m.schema.Children {
			if (e.GetName() == anyName || e.GetName() == name) && takesKeys(c, e) {
				next.add(m.child(c, e.GetKey()), append(slices.Clip(path), &gnmi.PathElem{Name: name, Key: e.GetKey()}))
			}
		}
	}
	return next
}

// descendants are the nodes and all below them.
func (at matched) descendants() matched {
	next := matched{}
	for m, path := range at {
		next.below(m, path)
	}
	return next
}

func (at matched) below(m match, path []*gnmi.PathElem) {
	if !at.add(m, path) {
		return
	}
	for name, c := range m.schema.Children {
		at.below(m.child(c, nil), append(slices.Clip(path), &gnmi.PathElem{Name: name}))
	}
}

// add is false for a match that is there already.
func (at matched) add(m match, path []*gnmi.PathElem) bool {
	if _, ok := at[m]; ok {
		return false
	}
	at[m] = path
	return true
}

func (m match) child(c *tree.Schema, keys map[string]string) match {
	if len(keys) > 0 {
		m.keys += fmt.Sprintf("%s%q", c.Path(), keys)
	}
	return match{c, m.keys}
}

func takesKeys(s *tree.Schema, e *gnmi.PathElem) bool {
	for k := range e.GetKey() {
		if !slices.Contains(s.Keys, k) {
			return false
		}
	}
	return true
}
