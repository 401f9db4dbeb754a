package junosconf

import "strings"

// View is one place of a configuration, to read from: by the names of YANG.
type View struct{ n *node }

// View of the whole.
func (t *Tree) View() View { return View{t.top} }

// Empty reports whether there is nothing at this place.
func (v View) Empty() bool { return v.n == nil }

// In goes down containers; the zero View where one is missing.
func (v View) In(names ...string) View {
	for _, name := range names {
		c := v.first(name)
		if c == nil {
			return View{}
		}
		v = View{c}
	}
	return v
}

func (v View) first(name string) *node {
	if v.n == nil {
		return nil
	}
	child := v.n.schema.byName(name)
	if child == nil || child.kind == list {
		return nil
	}
	return v.n.find(child, nil)
}

// List is the entries of a list, in order.
func (v View) List(name string) []View {
	if v.n == nil {
		return nil
	}
	var out []View
	for _, c := range v.n.children {
		if c.schema.name == name {
			out = append(out, View{c})
		}
	}
	return out
}

// Entry finds one by its key, of a list with one key.
func (v View) Entry(list, key string) View {
	if v.n == nil {
		return View{}
	}
	child := v.n.schema.byName(list)
	if child == nil {
		return View{}
	}
	return View{v.n.find(child, []string{key})}
}

// Key of a list entry (the first, where there are several).
func (v View) Key() string {
	if v.n == nil || len(v.n.keys) == 0 {
		return ""
	}
	return v.n.keys[0]
}

// Has reports whether a leaf, container or list is there.
func (v View) Has(name string) bool { return v.first(name) != nil }

// Leaf is a leaf's value; empty where it is not there.
func (v View) Leaf(name string) string {
	if c := v.first(name); c != nil && len(c.values) > 0 {
		return c.values[0]
	}
	return ""
}

// Values of a leaf-list.
func (v View) Values(name string) []string {
	if c := v.first(name); c != nil {
		return c.values
	}
	return nil
}

// Exists is false for the zero View.
func (v View) Exists() bool { return v.n != nil }

// Text is what is inside, as `show configuration` of the place prints it.
func (v View) Text() string {
	if v.n == nil {
		return ""
	}
	var b strings.Builder
	print(&b, v.n, "")
	return b.String()
}
