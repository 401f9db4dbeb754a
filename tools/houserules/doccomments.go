package houserules

import (
	"fmt"
	"go/ast"
	"strings"
)

// docComments: a comment stands right above what it describes, and begins with its name where it is that of a function,
// a type, or an exported constant or variable; a comment of several names describes the group.
func docComments(t *Tree) []string {
	var bad []string
	for _, f := range t.Written(false) {
		lines := strings.Split(string(t.Files[f.Path]), "\n")
		for _, decl := range f.AST.Decls {
			bad = append(bad, misnamed(t, decl)...)
			bad = append(bad, detached(t, f, lines, decl)...)
		}
	}
	return bad
}

// misnamed finds comments that do not begin with the name of what they describe.
func misnamed(t *Tree, decl ast.Decl) []string {
	var bad []string
	judge := func(doc *ast.CommentGroup, name *ast.Ident) {
		if doc == nil || name.Name == "_" {
			return
		}
		if first := firstWord(doc.Text()); first != "" && first != name.Name {
			bad = append(bad, fmt.Sprintf("%s: the comment of %s begins with %q; begin with the name", t.at(name), name.Name, first))
		}
	}
	switch d := decl.(type) {
	case *ast.FuncDecl:
		judge(d.Doc, d.Name)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Doc != nil {
					judge(s.Doc, s.Name)
				} else if len(d.Specs) == 1 {
					judge(d.Doc, s.Name)
				}
			case *ast.ValueSpec:
				if len(s.Names) != 1 || !s.Names[0].IsExported() {
					continue
				}
				judge(s.Doc, s.Names[0])
				if !d.Lparen.IsValid() {
					judge(d.Doc, s.Names[0])
				}
			}
		}
	}
	return bad
}

// firstWord skips an article before a type's name and the punctuation after it.
func firstWord(text string) string {
	words := strings.Fields(text)
	for len(words) > 0 && (words[0] == "A" || words[0] == "An" || words[0] == "The") {
		words = words[1:]
	}
	if len(words) == 0 || strings.HasPrefix(words[0], "go:") {
		return ""
	}
	word := strings.TrimRight(words[0], ",.:;")
	return strings.TrimSuffix(word, "'s")
}

// detached finds a comment that a blank line cuts off from the declaration whose name it begins with.
func detached(t *Tree, f *GoFile, lines []string, decl ast.Decl) []string {
	fn, ok := decl.(*ast.FuncDecl)
	if !ok || fn.Doc != nil {
		return nil
	}
	at := t.fset.Position(fn.Pos()).Line // of the func; lines[at-2] is the line above
	if at < 3 || lines[at-2] != "" {
		return nil
	}
	for _, c := range f.AST.Comments {
		if end := t.fset.Position(c.End()).Line; end == at-2 && firstWord(c.Text()) == fn.Name.Name {
			return []string{fmt.Sprintf("%s: a blank line cuts the comment of %s off from it", t.at(fn), fn.Name.Name)}
		}
	}
	return nil
}
