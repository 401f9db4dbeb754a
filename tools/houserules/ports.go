package houserules

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
)

// portsPassedOn finds functions that listen on port 0, close, and return the number.
func portsPassedOn(t *Tree) []string {
	var bad []string
	for _, f := range t.Written(true) {
		for _, d := range f.AST.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil && passesOn(fn.Body) {
				bad = append(bad, fmt.Sprintf("%s: %s returns the port of a listener that it closes; use internal/testkit/ports", t.at(fn), fn.Name.Name))
			}
		}
	}
	return bad
}

// passesOn: a listener on port 0 whose Close is deferred, and whose address is returned.
func passesOn(body *ast.BlockStmt) bool {
	listeners, closed, returned := map[string]bool{}, map[string]bool{}, map[string]bool{}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.AssignStmt:
			if name, ok := n.Lhs[0].(*ast.Ident); ok && len(n.Rhs) == 1 && listensOnAny(n.Rhs[0]) {
				listeners[name.Name] = true
			}
		case *ast.DeferStmt:
			closed[called(n.Call, "Close")] = true
		case *ast.ReturnStmt:
			ast.Inspect(n, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					returned[called(call, "Addr")], returned[called(call, "LocalAddr")] = true, true
				}
				return true
			})
		}
		return true
	})
	for name := range listeners {
		if closed[name] && returned[name] {
			return true
		}
	}
	return false
}

// called is the variable whose method this is; empty where it is another.
func called(call *ast.CallExpr, method string) string {
	if s, ok := call.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == method {
		if x, ok := s.X.(*ast.Ident); ok {
			return x.Name
		}
	}
	return ""
}

// listensOnAny reports whether an expression is net.Listen or net.ListenPacket on port 0.
func listensOnAny(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) < 2 || called(call, "Listen")+called(call, "ListenPacket") != "net" {
		return false
	}
	address, ok := call.Args[1].(*ast.BasicLit)
	return ok && address.Kind == token.STRING && strings.HasSuffix(strings.Trim(address.Value, `"`), ":0")
}
