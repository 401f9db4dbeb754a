package houserules

import (
	"fmt"
	"go/ast"
	"regexp"
)

// secretName is what a setting is called that names the file of a secret.
var secretName = regexp.MustCompile(`(?i)(password|secret|token)s?File$`)

// secretReads finds files of secrets that are opened without the checks of internal/secretfile.
func secretReads(t *Tree) []string {
	var bad []string
	for _, f := range t.Written(false) {
		ast.Inspect(f.AST, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			of, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || of.Sel.Name != "ReadFile" && of.Sel.Name != "Open" {
				return true
			}
			if name := lastName(call.Args[0]); secretName.MatchString(name) {
				bad = append(bad, fmt.Sprintf("%s reads %s: use secretfile.Read", t.at(n), name))
			}
			return true
		})
	}
	return bad
}

// lastName is that of a variable or a field; empty of anything else.
func lastName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return ""
}
