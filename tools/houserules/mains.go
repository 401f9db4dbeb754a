package houserules

import (
	"fmt"
	"go/ast"
)

// serversBeforeTests finds functions TestMain that start something.
func serversBeforeTests(t *Tree) []string {
	var bad []string
	for _, f := range t.Written(true) {
		for _, d := range f.AST.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Name.Name != "TestMain" || fn.Body == nil {
				continue
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Start" {
					bad = append(bad, fmt.Sprintf("%s: TestMain starts a server; the first test that needs it does, as internal/testkit/etcd", t.at(s)))
				}
				return true
			})
		}
	}
	return bad
}
