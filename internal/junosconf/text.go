package junosconf

import (
	"strings"
)

// statements are the words of one `set` line each.
func (t *Tree) statements() [][]string {
	var out [][]string
	walk(t.top, nil, func(words []string) { out = append(out, words) })
	return out
}

func walk(n *node, path []string, emit func([]string)) {
	for _, c := range n.children {
		at := append(path[:len(path):len(path)], c.head()...)
		switch {
		case c.schema.kind == leafList && len(c.values) > 1:
			emit(append(append(at, "["), append(c.values[:len(c.values):len(c.values)], "]")...))
		case len(c.values) > 0:
			emit(append(at, c.values...))
		case len(c.children) == 0:
			if c.schema.kind != container {
				emit(at)
			}
		default:
			walk(c, at, emit)
		}
	}
}

// SetLines is the configuration as `set` lines.
func (t *Tree) SetLines() string {
	var b strings.Builder
	for _, words := range t.statements() {
		b.WriteString("set " + line(words) + "\n")
	}
	return b.String()
}

func line(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w
		if w != "[" && w != "]" {
			out[i] = quoted(w)
		}
	}
	return strings.Join(out, " ")
}

// Text is the configuration with curly braces, as `show configuration` prints it.
func (t *Tree) Text() string {
	var b strings.Builder
	print(&b, t.top, "")
	return b.String()
}

const indent = "    "

func print(b *strings.Builder, n *node, margin string) {
	for _, c := range n.children {
		words := c.head()
		inner := c
		// What holds one statement only stands on one line.
		for len(inner.children) == 1 && inner.schema.inline() {
			inner = inner.children[0]
			words = append(words, inner.head()...)
		}
		switch {
		case inner.schema.kind == leafList && len(inner.values) > 1:
			b.WriteString(margin + line(words) + " [ " + line(inner.values) + " ];\n")
		case len(inner.values) > 0:
			b.WriteString(margin + line(append(words, inner.values...)) + ";\n")
		case len(inner.children) == 0:
			if inner.schema.kind != container {
				b.WriteString(margin + line(words) + ";\n")
			}
		default:
			b.WriteString(margin + line(words) + " {\n")
			print(b, inner, margin+indent)
			b.WriteString(margin + "}\n")
		}
	}
}

// inline nodes have no list anywhere below them.
func (s *schema) inline() bool {
	for _, c := range s.children {
		if c.kind == list || !c.inline() {
			return false
		}
	}
	return true
}

// Equal compares by meaning.
func (t *Tree) Equal(other *Tree) bool { return t.Text() == other.Text() }

// Clone is a copy of its own.
func (t *Tree) Clone() *Tree {
	out := New()
	out.Merge(t)
	return out
}
