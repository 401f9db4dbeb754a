package houserules

import (
	"fmt"
	"go/ast"
)

// sourcePaths finds calls of runtime.Caller, whose path is no file of the machine in a build with -trimpath.
func sourcePaths(t *Tree) []string {
	var bad []string
	for _, f := range t.Written(true) {
		ast.Inspect(f.AST, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok || s.Sel.Name != "Caller" {
				return true
			}
			if p, ok := s.X.(*ast.Ident); ok && p.Name == "runtime" {
				bad = append(bad, fmt.Sprintf("%s: runtime.Caller does not tell a file's folder; a test asks internal/testkit/checkout", t.at(s)))
			}
			return true
		})
	}
	return bad
}
