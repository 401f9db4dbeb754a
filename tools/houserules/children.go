package houserules

import (
	"fmt"
	"go/ast"
	"path"
)

// deathSignals finds programs that are to end with the process that starts them, started by something else than
// internal/child.
func deathSignals(t *Tree) []string {
	var bad []string
	for _, f := range t.Written(true) {
		if path.Dir(f.Path) == "internal/child" {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && id.Name == "Pdeathsig" {
				bad = append(bad, fmt.Sprintf("%s: Pdeathsig: use child.Start", t.at(n)))
			}
			return true
		})
	}
	return bad
}
