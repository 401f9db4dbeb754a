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
	{regexp.MustCompile(`(?i)\b(the|last|one|a|this|its|every) night(\b[^ly]|'s|$)`), "nightly run"},
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
	{regexp.MustCompile(`(?i)\b(taken|takes?|took|taking) (it |them |that |this |itself )?back\b[^g]`), "rolls back, undoes, or withdraws"},
	{regexp.MustCompile(`(?i)in the words of|\b(vendor|OpenConfig|Junos|FRR|tc)'s words`), "as commands, syntax or configuration of"},
	{regexp.MustCompile(`(?i)\bshall (hold|have)\b`), "intended config"},
	{regexp.MustCompile(`(?i)\bunplaced\b|cannot be placed`), "unmapped, or cannot be mapped"},
	{regexp.MustCompile(`(?i)\bforeign (scheduler|router|config|binding)`), "unmanaged"},
	{regexp.MustCompile(`(?i)\bthe line('s rate| is full| less)|(fills?|overloads) the line\b`), "port speed, link, or link rate"},
	{regexp.MustCompile(`(?i)\bthe ways differ`), "paths"},
	{regexp.MustCompile(`(?i)configuration units?\b|\binto units\b`), "config entry"},
	{regexp.MustCompile(`(?i)\bwho(so|m)?ever\b`), "the actor's name: client, operator, caller, process"},
	{regexp.MustCompile(`\b(is|are|was|were|be|been|being|nobody|anybody) told\b|\btold (of|by|about|apart)\b`),
		"reported, notified, logged, sent, distinguished, or raises an event"},
	{regexp.MustCompile(`(?i)\b(its|the|a|one's|their) way back\b`), "return path, or rollback"},
	{regexp.MustCompile(`^// \w+ tells whether\b`), "reports whether, as in all doc comments of Go"},
	{regexp.MustCompile(`(?i)\bmakes? no sense\b`), "invalid, out of range, or not plausible: name the check"},
	{regexp.MustCompile(`(?i)\basks? (the kernel|etcd)\b`), "reads, queries, requests or calls"},
	{regexp.MustCompile(`(?i)\bwhat (it|they) (is|are|was|were) asked\b`), "the request"},
	{regexp.MustCompile(`(?i)\bit is said\b|\band said so\b`), "reports, logs, or prints, with its subject"},
	{regexp.MustCompile(`(?i)\bby (its|their) own word\b`), "as it reports"},
	{regexp.MustCompile(`\b(host|port|sender|interface)'s (own )?line\b`), "port, link, or link rate"},
}

// coinedExempt may say them: they explain them, or keep what was written then.
var coinedExempt = []string{"tools/houserules", "docs/glossary.md", "CHANGELOG.md"}

// coinedSources are other files that people wrote, by the end of their names, and the folders looked at; nil is
// all.
var coinedSources = map[string][]string{
	".md": nil, ".ts": nil, ".tsx": nil, ".proto": nil, ".c": nil, ".h": nil,
	".yaml": {"policies", "scenario"},
}

// coined looks at pages, comments, names of tests, texts of programs, and sources in other languages.
func coined(t *Tree) []string {
	var bad []string
	for _, name := range t.Names() {
		folders, read := coinedSources[path.Ext(name)]
		if !read || len(folders) > 0 && !anyUnder(name, folders) || anyUnder(name, coinedExempt) || anyUnder(name, generatedFolders) {
			continue
		}
		for i, line := range strings.Split(string(t.Files[name]), "\n") {
			bad = append(bad, coinedIn(fmt.Sprintf("%s:%d", name, i+1), line)...)
		}
	}
	for _, f := range t.Written(true) {
		if !anyUnder(f.Path, coinedExempt) {
			bad = append(bad, coinedInGo(t, f)...)
		}
	}
	return bad
}

// coinedInGo reads comments, strings but a test's own, and names of tests.
func coinedInGo(t *Tree, f *GoFile) []string {
	var bad []string
	for _, group := range f.AST.Comments {
		for _, c := range group.List {
			bad = append(bad, coinedIn(t.at(c), c.Text)...)
		}
	}
	ast.Inspect(f.AST, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if n.Kind == token.STRING && !f.Test {
				bad = append(bad, coinedIn(t.at(n), n.Value)...)
			}
		case *ast.FuncDecl:
			if f.Test {
				bad = append(bad, coinedIn(t.at(n), spaced(n.Name.Name))...)
			}
		}
		return true
	})
	return bad
}

var capital = regexp.MustCompile(`[A-Z]`)

// spaced is the name of a test as a sentence.
func spaced(name string) string { return capital.ReplaceAllString(name, " $0") }

func coinedIn(at, text string) []string {
	var bad []string
	for _, c := range coinedWords {
		if m := c.word.FindString(text); m != "" {
			bad = append(bad, fmt.Sprintf("%s: %q; the standard word is %s", at, m, c.standard))
		}
	}
	return bad
}
