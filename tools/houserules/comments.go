package houserules

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// packageComments: one comment per package; In, Out and Next unless it is a command.
func packageComments(t *Tree) []string {
	comments, commands := map[string][]*GoFile{}, map[string]bool{}
	for _, f := range t.Written(false) {
		folder := f.Folder()
		if _, seen := comments[folder]; !seen {
			comments[folder] = nil
		}
		if f.AST.Name.Name == "main" {
			commands[folder] = true
		}
		if f.AST.Doc != nil {
			comments[folder] = append(comments[folder], f)
		}
	}
	var bad []string
	for folder, files := range comments {
		switch {
		case len(files) == 0:
			bad = append(bad, folder+": no package comment")
			continue
		case len(files) > 1:
			bad = append(bad, fmt.Sprintf("%s: package comments in %s and %s; keep one", folder, files[0].Path, files[1].Path))
		}
		if missing := missingWords(files[0].AST.Doc.Text()); !commands[folder] && len(missing) > 0 {
			bad = append(bad, fmt.Sprintf("%s: package comment without %s", files[0].Path, strings.Join(missing, ", ")))
		}
	}
	slices.Sort(bad)
	return bad
}

func missingWords(comment string) []string {
	var missing []string
	for _, word := range []string{"In:", "Out:", "Next:"} {
		if !strings.Contains(comment, word) {
			missing = append(missing, word)
		}
	}
	return missing
}

// documentedShare is the least share of exported names that have a comment.
const documentedShare = 0.9

func documented(t *Tree) []string {
	all := 0
	var bare []string
	for _, f := range t.Written(false) {
		if f.AST.Name.Name == "main" {
			continue
		}
		for _, decl := range f.AST.Decls {
			for _, name := range exported(decl) {
				all++
				if !name.documented {
					bare = append(bare, fmt.Sprintf("%s: %s has no comment", t.at(name.ident), name.ident.Name))
				}
			}
		}
	}
	if float64(len(bare)) <= (1-documentedShare)*float64(all) {
		return nil
	}
	return append([]string{fmt.Sprintf("%d of %d exported names have no comment", len(bare), all)}, bare...)
}

type exportedName struct {
	ident      *ast.Ident
	documented bool
}

func exported(decl ast.Decl) []exportedName {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && (d.Recv == nil || receiverExported(d.Recv)) {
			return []exportedName{{d.Name, d.Doc != nil}}
		}
	case *ast.GenDecl:
		var out []exportedName
		for _, spec := range d.Specs {
			out = append(out, exportedSpec(spec, d.Doc != nil)...)
		}
		return out
	}
	return nil
}

// exportedSpec: a comment on a block of constants or variables covers all of it.
func exportedSpec(spec ast.Spec, block bool) []exportedName {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() {
			return []exportedName{{s.Name, block || s.Doc != nil || s.Comment != nil}}
		}
	case *ast.ValueSpec:
		var out []exportedName
		for _, name := range s.Names {
			if name.IsExported() {
				out = append(out, exportedName{name, block || s.Doc != nil || s.Comment != nil})
			}
		}
		return out
	}
	return nil
}

func receiverExported(r *ast.FieldList) bool {
	kind := r.List[0].Type
	if star, ok := kind.(*ast.StarExpr); ok {
		kind = star.X
	}
	switch k := kind.(type) {
	case *ast.IndexExpr:
		kind = k.X
	case *ast.IndexListExpr:
		kind = k.X
	}
	name, ok := kind.(*ast.Ident)
	return ok && name.IsExported()
}
