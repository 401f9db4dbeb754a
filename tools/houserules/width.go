package houserules

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// commentColumns is the widest that a comment on lines of its own may be; a tab counts as four.
const commentColumns = 120

// commentWidth leaves alone what tools read, such as go:generate, and what has no space to be broken at.
func commentWidth(t *Tree) []string {
	var bad []string
	for _, f := range t.Written(true) {
		lines := strings.Split(string(t.Files[f.Path]), "\n")
		for _, group := range f.AST.Comments {
			for _, c := range group.List {
				at := t.fset.Position(c.Pos())
				line := lines[at.Line-1]
				text, ok := strings.CutPrefix(strings.TrimLeft(line, "\t"), "// ")
				n := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    "))
				if ok && n > commentColumns && strings.Contains(text, " ") {
					bad = append(bad, fmt.Sprintf("%s:%d: a comment of %d columns; break it at %d", f.Path, at.Line, n, commentColumns))
				}
			}
		}
	}
	return bad
}
