package houserules

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strings"
)

// coinedWords are words of this house that the field does not know, each with
// the standard word. A row is added when the last place that says it is gone.
var coinedWords = []struct {
	word     *regexp.Regexp
	standard string
}{
	{regexp.MustCompile(`(?i)front door`), "API gateway"},
	{regexp.MustCompile(`(?i)data[- ]quality`), "exporter health, or collection quality"},
	{regexp.MustCompile(`(?i)how far .* trusted`), "exporter health"},
	{regexp.MustCompile(`(?i)\b(the|last|one) night\b`), "nightly run"},
	{regexp.MustCompile(`(?i)drop curves?\b`), "drop profile"},
	{regexp.MustCompile(`(?i)goes back by itself`), "rolls back on its timer"},
	{regexp.MustCompile(`(?i)queue's fill\b`), "queue occupancy, or fill level"},
	{regexp.MustCompile(`(?i)nobody attaches|router attaches`), "originates (a prefix)"},
	{regexp.MustCompile(`\bpeers\.(NAME|[a-z]+ is)`), "endpoints"},
	{regexp.MustCompile(`(?i)packets' departure`), "earliest departure time (EDT)"},
	{regexp.MustCompile(`\bnumberer\b`), "ID allocator"},
	{regexp.MustCompile(`\bworthIt\b`), "minRateChange"},
	{regexp.MustCompile(`(?i)asks, stores and says`), "queries, persists and reports"},
	{regexp.MustCompile(`(?i)who(ever)? lacks`), "a flow below its share"},
	{regexp.MustCompile(`(?i)nobody's value`), "unused result"},
	{regexp.MustCompile(`(?i)answers to nothing`), "does not react to"},
	{regexp.MustCompile(`(?i)lives? of the excess`), "borrows from the parent"},
	{regexp.MustCompile(`(?i)is dearer`), "costs more"},
	{regexp.MustCompile(`(?i)\b(taken|takes?|took) back\b`), "rolls back, undoes, or withdraws"},
	{regexp.MustCompile(`(?i)in the words of`), "as commands, syntax or configuration of"},
}

// coinedExempt may say them: they explain them, or keep what was written then.
var coinedExempt = []string{"tools/houserules", "docs/glossary.md", "CHANGELOG.md"}

// coined looks at comments, at what commands print, and at pages.
func coined(t *Tree) []string {
	var bad []string
	for _, name := range t.Names() {
		if path.Ext(name) == ".md" && !anyUnder(name, coinedExempt) {
			for i, line := range strings.Split(string(t.Files[name]), "\n") {
				bad = append(bad, coinedIn(fmt.Sprintf("%s:%d", name, i+1), line)...)
			}
		}
	}
	for _, f := range t.Written(false) {
		if anyUnder(f.Path, coinedExempt) {
			continue
		}
		for _, group := range f.AST.Comments {
			for _, c := range group.List {
				bad = append(bad, coinedIn(t.at(c), c.Text)...)
			}
		}
		if !Under(f.Path, "cmd") {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				bad = append(bad, coinedIn(t.at(lit), lit.Value)...)
			}
			return true
		})
	}
	return bad
}

func coinedIn(at, text string) []string {
	var bad []string
	for _, c := range coinedWords {
		if m := c.word.FindString(text); m != "" {
			bad = append(bad, fmt.Sprintf("%s: %q; the standard word is %s", at, m, c.standard))
		}
	}
	return bad
}
