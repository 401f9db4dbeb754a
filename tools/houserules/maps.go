package houserules

import (
	"fmt"
	"go/ast"
	"strings"
)

// mapFolders hold the maps of the agents on routers.
var mapFolders = []string{"services/routeragent/kernel", "services/peagent/datapath"}

// mapMethods of cilium/ebpf write an entry.
var mapMethods = map[string]bool{"Put": true, "Update": true, "BatchUpdate": true}

func mapWrites(t *Tree) []string {
	var bad []string
	for _, f := range t.Written(false) {
		for _, folder := range mapFolders {
			if Under(f.Path, folder) && strings.Contains(strings.Join(imports(f), " "), "github.com/cilium/ebpf") {
				bad = append(bad, writesOf(t, f)...)
			}
		}
	}
	return bad
}

func writesOf(t *Tree, f *GoFile) []string {
	var bad []string
	ast.Inspect(f.AST, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if s, ok := call.Fun.(*ast.SelectorExpr); ok && mapMethods[s.Sel.Name] {
			if x, ok := s.X.(*ast.Ident); !ok || x.Name != "bpfmap" {
				bad = append(bad, fmt.Sprintf("%s calls %s: use bpfmap.Put or bpfmap.Fill", t.at(n), s.Sel.Name))
			}
		}
		return true
	})
	return bad
}
