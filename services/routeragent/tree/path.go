package tree

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openconfig/gnmi/proto/gnmi"
)

// Path is a gNMI path checked against the schema. A key that is absent or "*" matches every entry.
type Path struct {
	Elems []Elem
}

// Elem is one step of a path.
type Elem struct {
	Schema *Schema
	// Keys of a list by name; "*" for any.
	Keys map[string]string
}

// Resolve joins prefix and path and finds them in the schema.
func Resolve(prefix, path *gnmi.Path) (Path, error) {
	var p Path
	at := Root()
	elems := append(slices.Clone(prefix.GetElem()), path.GetElem()...)
	for _, e := range elems {
		if e.GetName() == "" {
			return p, fmt.Errorf("element %d of the path has no name", len(p.Elems)+1)
		}
		if e.GetName() == "*" || e.GetName() == "..." {
			return p, fmt.Errorf("element %q: wildcards are supported in keys only", e.GetName())
		}
		c, err := at.child(e.GetName())
		if err != nil {
			return p, err
		}
		if c.Kind != List && len(e.GetKey()) > 0 {
			return p, fmt.Errorf("%s has no keys", c.Path())
		}
		keys := map[string]string{}
		for k, v := range e.GetKey() {
			if !slices.Contains(c.Keys, k) {
				return p, fmt.Errorf("%s has no key %q", c.Path(), k)
			}
			keys[k] = canonicalKey(v)
		}
		for _, k := range c.Keys {
			if _, ok := keys[k]; !ok {
				keys[k] = "*"
			}
		}
		p.Elems = append(p.Elems, Elem{Schema: c, Keys: keys})
		at = c
	}
	return p, nil
}

// canonicalKey drops the module of an identity: OSPF and openconfig-policy-types:OSPF are one key.
func canonicalKey(v string) string {
	if module, name, ok := strings.Cut(v, ":"); ok && strings.HasPrefix(module, "openconfig-") {
		return name
	}
	return v
}

// Schema of the last element; the root's for an empty path.
func (p Path) Schema() *Schema {
	if len(p.Elems) == 0 {
		return Root()
	}
	return p.Elems[len(p.Elems)-1].Schema
}

// Concrete is true if every list entry is named.
func (p Path) Concrete() bool {
	for _, e := range p.Elems {
		if !e.concrete() {
			return false
		}
	}
	return true
}

func (e Elem) concrete() bool {
	for _, v := range e.Keys {
		if v == "*" {
			return false
		}
	}
	return true
}

// partial is true if the path names some keys of a list but not all, or none.
func (p Path) partial() bool { return !p.Concrete() }

// escape is made once: a Replacer costs more to make than thousands of paths to write.
var escape = strings.NewReplacer(`\`, `\\`, "]", `\]`)

func (p Path) String() string {
	var b strings.Builder
	for _, e := range p.Elems {
		b.WriteByte('/')
		b.WriteString(e.Schema.Name)
		for _, k := range e.Schema.Keys {
			b.WriteByte('[')
			b.WriteString(k)
			b.WriteByte('=')
			b.WriteString(escape.Replace(e.Keys[k]))
			b.WriteByte(']')
		}
	}
	if b.Len() == 0 {
		return "/"
	}
	return b.String()
}

// Proto is the path as gNMI carries it, identities in keys with their module left out.
func (p Path) Proto() *gnmi.Path {
	out := &gnmi.Path{}
	for _, e := range p.Elems {
		out.Elem = append(out.Elem, e.proto())
	}
	return out
}

func (e Elem) proto() *gnmi.PathElem {
	out := &gnmi.PathElem{Name: e.Schema.Name}
	if len(e.Schema.Keys) > 0 {
		out.Key = make(map[string]string, len(e.Schema.Keys))
		for _, k := range e.Schema.Keys {
			out.Key[k] = e.Keys[k]
		}
	}
	return out
}

// with extends a path by one step.
func (p Path) with(s *Schema, keys map[string]string) Path {
	return Path{Elems: append(slices.Clip(slices.Clone(p.Elems)), Elem{Schema: s, Keys: keys})}
}

// Overlaps is true if one of the two lies at or under the other, wildcards matching.
func (p Path) Overlaps(q Path) bool {
	for i := range min(len(p.Elems), len(q.Elems)) {
		a, b := p.Elems[i], q.Elems[i]
		if a.Schema != b.Schema {
			return false
		}
		for k, v := range a.Keys {
			if w := b.Keys[k]; v != "*" && w != "*" && v != w {
				return false
			}
		}
	}
	return true
}

// IsListKey is true if the path ends at the key leaf of a list entry, which its path says already.
func (p Path) IsListKey() bool { return isKey(p) }
