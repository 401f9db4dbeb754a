package houserules

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// coinedExempt may say them: they explain them, or keep what was written then.
var coinedExempt = []string{"tools/houserules", "docs/glossary.md", "CHANGELOG.md"}

// thirdParty wrote these files: licences, schemas, records of what their programs sent, and lists of packages.
var thirdParty = []string{
	"LICENSE", "go.sum", "package-lock.json", ".xsd", ".wsdl", ".svg", ".sha256", "internal/junosconf/schema.txt",
	"services/nsi/testdata", "collectors/flow/decode/testdata", "collectors/flow/nfcapd/testdata", "collectors/topology/testdata", "services/circuits/testdata/schemathesis", "proto/third_party/google",
}

// coined looks at every text that people of this house wrote: pages, comments, declared names, texts of programs,
// configuration, schemas, scripts, and sources in other languages.
func coined(t *Tree) []string {
	var bad []string
	for _, name := range t.Names() {
		if !proseFile(name, t.Files[name]) {
			continue
		}
		for i, line := range strings.Split(string(t.Files[name]), "\n") {
			bad = append(bad, coinedIn(coinedWords, fmt.Sprintf("%s:%d", name, i+1), line)...)
		}
	}
	for _, f := range t.Written(true) {
		if !anyUnder(f.Path, coinedExempt) {
			bad = append(bad, coinedInGo(t, f)...)
		}
	}
	return bad
}

// proseFile reports whether all lines of a file are read. Go files are parsed instead.
func proseFile(name string, content []byte) bool {
	if path.Ext(name) == ".go" || anyUnder(name, coinedExempt) || anyUnder(name, generatedFolders) || anyUnder(name, thirdParty) {
		return false
	}
	if slices.ContainsFunc(thirdParty, func(end string) bool { return path.Base(name) == end || path.Ext(name) == end }) {
		return false
	}
	return !bytes.ContainsRune(content, 0) && utf8.Valid(content)
}

// coinedInGo reads comments, strings but a test's own, and declared names.
func coinedInGo(t *Tree, f *GoFile) []string {
	var bad []string
	for _, group := range f.AST.Comments {
		for _, c := range group.List {
			bad = append(bad, coinedIn(coinedWords, t.at(c), c.Text)...)
		}
	}
	name := func(id *ast.Ident) { bad = append(bad, coinedIn(coinedNames, t.at(id), spaced(id.Name))...) }
	ast.Inspect(f.AST, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if n.Kind == token.STRING && !f.Test {
				bad = append(bad, coinedIn(coinedWords, t.at(n), n.Value)...)
			}
		case *ast.FuncDecl:
			name(n.Name)
		case *ast.TypeSpec:
			name(n.Name)
		case *ast.Field:
			for _, id := range n.Names {
				name(id)
			}
		case *ast.ValueSpec:
			for _, id := range n.Names {
				name(id)
			}
		}
		return true
	})
	return bad
}

var capital = regexp.MustCompile(`[A-Z]`)

// spaced is a name as a sentence: takeBack is "take Back".
func spaced(name string) string { return capital.ReplaceAllString(name, " $0") }

func coinedIn(words []coinage, at, text string) []string {
	var bad []string
	lower := strings.ToLower(text)
	for _, c := range words {
		if !hasOne(lower, stems(c.word)) {
			continue
		}
		if m := c.word.FindString(text); m != "" {
			bad = append(bad, fmt.Sprintf("%s: %q; the standard word is %s", at, m, c.standard))
		}
	}
	return bad
}
