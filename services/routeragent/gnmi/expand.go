package gnmi

import (
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

// expand finds everything of the schema that a path with wildcards in place of
// names means; a path without any is itself. Wildcards in keys stay: data
// decides them, not the schema.
func expand(prefix, path *gnmi.Path) ([]*gnmi.Path, error) {
	elems := append(slices.Clone(prefix.GetElem()), path.GetElem()...)
	if !slices.ContainsFunc(elems, isWild) {
		return []*gnmi.Path{{Elem: elems}}, nil
	}
	x := expander{found: map[*tree.Schema]*gnmi.Path{}}
	x.walk(tree.Root(), nil, elems)
	if len(x.found) == 0 {
		return nil, status.Errorf(codes.InvalidArgument, "no node of the data model matches the wildcards of %v", names(elems))
	}
	out := slices.Collect(maps.Values(x.found))
	slices.SortFunc(out, func(a, b *gnmi.Path) int { return slices.Compare(names(a.GetElem()), names(b.GetElem())) })
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

type expander struct{ found map[*tree.Schema]*gnmi.Path }

func (x expander) walk(s *tree.Schema, at, rest []*gnmi.PathElem) {
	if len(rest) == 0 {
		x.found[s] = &gnmi.Path{Elem: slices.Clone(at)}
		return
	}
	e := rest[0]
	if e.GetName() == anyLevels {
		x.walk(s, at, rest[1:])
		if len(rest) == 1 {
			return // what lies below is in what was found
		}
	}
	for name, c := range s.Children {
		switch {
		case e.GetName() == anyLevels:
			x.walk(c, append(slices.Clip(at), &gnmi.PathElem{Name: name}), rest)
		case (e.GetName() == anyName || e.GetName() == name) && takesKeys(c, e):
			x.walk(c, append(slices.Clip(at), &gnmi.PathElem{Name: name, Key: e.GetKey()}), rest[1:])
		}
	}
}

func takesKeys(s *tree.Schema, e *gnmi.PathElem) bool {
	for k := range e.GetKey() {
		if !slices.Contains(s.Keys, k) {
			return false
		}
	}
	return true
}
