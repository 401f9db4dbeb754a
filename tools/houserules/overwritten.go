package houserules

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strings"
)

// letters are what a random text of base64, base32 or hex may end in already.
var letters = regexp.MustCompile(`^"[0-9A-Za-z]+"$`)

// overwritten finds texts that a test spoils by letters in the place of their last ones.
func overwritten(t *Tree) []string {
	var bad []string
	for _, f := range t.Written(true) {
		if !strings.HasSuffix(f.Path, "_test.go") {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			sum, ok := n.(*ast.BinaryExpr)
			if !ok || sum.Op != token.ADD {
				return true
			}
			end, literal := sum.Y.(*ast.BasicLit)
			if literal && letters.MatchString(end.Value) && shortened(sum.X) {
				bad = append(bad, fmt.Sprintf("%s: the end of a text is overwritten by %s", t.at(n), end.Value))
			}
			return true
		})
	}
	return bad
}

// shortened is x[:len(x)-n].
func shortened(e ast.Expr) bool {
	slice, ok := e.(*ast.SliceExpr)
	if !ok || slice.Low != nil {
		return false
	}
	rest, ok := slice.High.(*ast.BinaryExpr)
	if !ok || rest.Op != token.SUB {
		return false
	}
	call, ok := rest.X.(*ast.CallExpr)
	if !ok {
		return false
	}
	name, ok := call.Fun.(*ast.Ident)
	return ok && name.Name == "len"
}
