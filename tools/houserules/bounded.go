package houserules

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
)

var newHandler = regexp.MustCompile("^New[A-Za-z]+ServiceHandler$")

// bounded finds handlers of Connect services without a bound of their requests. Those of tests answer as the product's
// do.
func bounded(t *Tree) []string {
	var bad []string
	for _, f := range t.Written(true) {
		if path.Dir(f.Path) == "internal/rpc" {
			continue // it is tested there
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if s, ok := call.Fun.(*ast.SelectorExpr); ok && newHandler.MatchString(s.Sel.Name) && !hasBound(call.Args) {
				bad = append(bad, fmt.Sprintf("%s: %s without rpc.Bounded", t.at(call), s.Sel.Name))
			}
			return true
		})
	}
	return bad
}

func hasBound(args []ast.Expr) bool {
	for _, a := range args {
		if call, ok := a.(*ast.CallExpr); ok && called(call, "Bounded") == "rpc" {
			return true
		}
	}
	return false
}
