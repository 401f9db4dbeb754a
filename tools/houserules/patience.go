package houserules

import (
	"fmt"
	"go/ast"
)

// patience finds HTTP servers that name no wait for headers, or one of their own.
func patience(t *Tree) []string {
	var bad []string
	for _, f := range t.Written(false) {
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if l, ok := n.(*ast.CompositeLit); ok && is(l.Type, "http", "Server") && !waits(l) && f.Path != "internal/rpc/local.go" {
				bad = append(bad, fmt.Sprintf("%s: http.Server without ReadHeaderTimeout: rpc.HeaderPatience", t.at(l)))
			}
			return true
		})
	}
	return bad
}

func waits(server *ast.CompositeLit) bool {
	for _, e := range server.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		if key, ok := kv.Key.(*ast.Ident); ok && key.Name == "ReadHeaderTimeout" {
			own, isOwn := kv.Value.(*ast.Ident)
			return isOwn && own.Name == "HeaderPatience" || is(kv.Value, "rpc", "HeaderPatience")
		}
	}
	return false
}

// is reports whether an expression is a name of a package.
func is(e ast.Expr, pkg, name string) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != name {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == pkg
}
