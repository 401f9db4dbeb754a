package houserules

import (
	"fmt"
	"go/ast"
)

// stoppedElsewhere finds SIGSTOP outside the package that waits until it has worked.
func stoppedElsewhere(t *Tree) []string {
	var bad []string
	for _, f := range t.Written(true) {
		if Under(f.Path, "internal/testkit/standstill") {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "SIGSTOP" {
				bad = append(bad, fmt.Sprintf("%s: SIGSTOP; a test calls standstill.Stop", t.at(s)))
			}
			return true
		})
	}
	return bad
}
