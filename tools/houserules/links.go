package houserules

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
)

var (
	codeBlock = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	codeSpan  = regexp.MustCompile("`([^`\n]+)`")
	link      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading   = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	testName  = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w*`)
	madeBy    = regexp.MustCompile(`\bmake ([a-z][a-z0-9-]+)`)
	target    = regexp.MustCompile(`(?m)^([a-z0-9-]+):`)
	docInCode = regexp.MustCompile(`\bdocs/[A-Za-z0-9_./-]+\.(?:md|json|svg)\b`)
)

// history are pages that speak of the tree as it was on a day.
var history = []string{"docs/adr", "CHANGELOG.md"}

// links checks what the documents send their readers to: links, anchors, paths,
// tests and make targets.
func links(t *Tree) []string {
	tests, commands := testNames(t), commandLinesOf(t)
	var bad []string
	for _, name := range t.documents() {
		text := string(t.Files[name])
		for _, to := range linksOf(text) {
			if why := t.broken(name, to); why != "" {
				bad = append(bad, fmt.Sprintf("%s links to %s: %s", name, to, why))
			}
		}
		if anyUnder(name, history) {
			continue
		}
		bad = append(bad, t.wrongCode(name, text, tests, commands)...)
	}
	return append(bad, docsInCode(t)...)
}

// documents are the Markdown files that people read, in order.
func (t *Tree) documents() []string {
	return slices.DeleteFunc(t.Names(), func(name string) bool {
		return path.Ext(name) != ".md" || strings.Contains(name, "/testdata/")
	})
}

// linksOf lists the targets of the links in a page.
func linksOf(text string) []string {
	var out []string
	for _, m := range link.FindAllStringSubmatch(codeSpan.ReplaceAllString(codeBlock.ReplaceAllString(text, ""), "`$1`"), -1) {
		out = append(out, m[1])
	}
	return out
}

// broken returns the reason why a link leads nowhere; empty if it leads somewhere or out of the repository.
func (t *Tree) broken(from, to string) string {
	if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
		return ""
	}
	file, anchor, _ := strings.Cut(to, "#")
	at := resolve(from, file)
	if !hasFolder(t, at) {
		return "there is no " + at
	}
	if anchor != "" && !slices.Contains(anchors(string(t.Files[at])), anchor) {
		return fmt.Sprintf("%s has no heading #%s", at, anchor)
	}
	return ""
}

// resolve is the file a link in a page leads to; an empty link is the page itself.
func resolve(from, file string) string {
	if file == "" {
		return from
	}
	return path.Join(path.Dir(from), file)
}

var notInAnchors = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// anchors are the headings of a page as links name them.
func anchors(text string) []string {
	var out []string
	seen := map[string]int{}
	for _, m := range heading.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
		plain := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(m[1], "$1")
		a := strings.ReplaceAll(notInAnchors.ReplaceAllString(strings.ToLower(plain), ""), " ", "-")
		if n := seen[a]; n > 0 {
			out = append(out, fmt.Sprintf("%s-%d", a, n))
		} else {
			out = append(out, a)
		}
		seen[a]++
	}
	return out
}

// wrongCode lists paths, commands, tests and make targets in code that are not there.
func (t *Tree) wrongCode(name, text string, tests map[string]bool, commands commandLines) []string {
	var bad []string
	for _, code := range append(codeBlock.FindAllString(text, -1), spans(text)...) {
		for _, p := range t.pathsIn(code) {
			if !t.names(p) {
				bad = append(bad, fmt.Sprintf("%s names %s, which does not exist", name, p))
			}
		}
		for _, command := range commands.unknown(code) {
			bad = append(bad, fmt.Sprintf("%s names the command %s, which millrace does not have", name, command))
		}
		for _, test := range testName.FindAllString(code, -1) {
			if !tests[test] {
				bad = append(bad, fmt.Sprintf("%s names %s, which no file declares", name, test))
			}
		}
		for _, m := range madeBy.FindAllStringSubmatch(code, -1) {
			if makefile := t.Files["Makefile"]; !slices.ContainsFunc(target.FindAllSubmatch(makefile, -1), func(s [][]byte) bool { return string(s[1]) == m[1] }) {
				bad = append(bad, fmt.Sprintf("%s names make %s, which the Makefile does not have", name, m[1]))
			}
		}
	}
	return bad
}

// spans are the pieces of code within lines.
func spans(text string) []string {
	var out []string
	for _, m := range codeSpan.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
		out = append(out, m[1])
	}
	return out
}

var pathLike = regexp.MustCompile(`^[A-Za-z0-9_.][A-Za-z0-9_.*{},/-]*$`)

// pathsIn are the words of a piece of code that begin with a folder of the repository's root. Words with a placeholder,
// such as <name> or NAME, are none.
func (t *Tree) pathsIn(code string) []string {
	var out []string
	for word := range strings.FieldsSeq(code) {
		word = strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(strings.TrimRight(word, ",;:.)"), "./"), "..."), "/")
		root, rest, below := strings.Cut(word, "/")
		if below && rest != "" && pathLike.MatchString(word) && root != "" && hasFolder(t, root) && !strings.Contains(word, "NAME") {
			out = append(out, word)
		}
	}
	return out
}

// names reports whether a path, which may have * and {a,b}, is a file or folder of the tree.
func (t *Tree) names(p string) bool {
	if before, rest, ok := strings.Cut(p, "{"); ok {
		list, after, _ := strings.Cut(rest, "}")
		for choice := range strings.SplitSeq(list, ",") {
			if !t.names(before + choice + after) {
				return false
			}
		}
		return true
	}
	if hasFolder(t, p) {
		return true
	}
	for name := range t.Files {
		for at := name; at != "."; at = path.Dir(at) {
			if ok, _ := path.Match(p, at); ok {
				return true
			}
		}
	}
	return false
}

// testNames are the functions and methods of test files.
func testNames(t *Tree) map[string]bool {
	names := map[string]bool{}
	for _, f := range t.Written(true) {
		for _, d := range f.AST.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && f.Test {
				names[fn.Name.Name] = true
			}
		}
	}
	return names
}

// docsInCode are pages named in Go, shell and make files that do not exist.
func docsInCode(t *Tree) []string {
	var bad []string
	for _, name := range t.Names() {
		f, isGo := t.Go[name]
		if !isGo && name != "Makefile" && path.Ext(name) != ".sh" || isGo && (f.Generated || f.Folder() == "tools/houserules") {
			continue
		}
		for _, page := range docInCode.FindAllString(string(t.Files[name]), -1) {
			if !hasFolder(t, page) {
				bad = append(bad, fmt.Sprintf("%s names %s, which does not exist", name, page))
			}
		}
	}
	return bad
}
