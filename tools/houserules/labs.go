package houserules

import (
	"fmt"
	"go/ast"
	"strings"
)

// labAlone are packages whose tests boot a lab and are no part of `make test`.
var labAlone = []string{"e2e/k8s"}

// labs finds tests that boot a lab of their own, of packages that the Makefile does not run under the lab's lock.
func labs(t *Tree) []string {
	var locked []string
	for line := range strings.Lines(string(t.Files["Makefile"])) {
		if strings.HasPrefix(line, "LAB ") || strings.Contains(line, "$(LAB_LOCK)") {
			locked = append(locked, line)
		}
	}
	under := strings.Join(locked, "")
	var bad []string
	for _, f := range t.Written(true) {
		if !f.Test || Under(f.Path, "lab") || anyUnder(f.Path, labAlone) {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if ok && called(call, "Up") == "lab" && !strings.Contains(under, "/"+f.Folder()+"$$'") && !strings.Contains(under, " ./"+f.Folder()+"\n") {
				bad = append(bad, fmt.Sprintf("%s: lab.Up in a test that the Makefile does not run under $(LAB_LOCK)", t.at(call)))
			}
			return true
		})
	}
	return bad
}
