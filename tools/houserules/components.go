package houserules

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
)

// otherComponents are components of another shape, each with its type and the reason. Their goroutines are no
// lifecycle.Loops, whose Stop gives up when its context ends: an agent waits for them however long they take, because
// it then unmaps the memory and closes the sockets that they use.
var otherComponents = map[string]struct{ kind, why string }{
	"services/routeragent": {"Agent", "a process on a router, which operators call the agent"},
	"services/peagent":     {"Agent", "a process on a router, which operators call the agent"},
}

// components: each folder of collectors and services has in its root the names
// by which cmd/millrace configures, makes, starts and stops it.
func components(t *Tree) []string {
	roots := map[string][]*GoFile{}
	for _, f := range t.Written(false) {
		if c := component(f.Path); c != "" {
			roots[c] = slices.Grow(roots[c], 1)
			if f.Folder() == c {
				roots[c] = append(roots[c], f)
			}
		}
	}
	var bad []string
	for _, folder := range slices.Sorted(maps.Keys(roots)) {
		kind := "Component"
		if other, ok := otherComponents[folder]; ok {
			kind = other.kind
		}
		have := contract(roots[folder])
		for _, want := range []string{
			"type Configuration", "type Dependencies", "type " + kind,
			"Configuration.Validate() error",
			"New(Configuration, Dependencies) (*" + kind + ", error)",
			kind + ".Start(context.Context) error",
			kind + ".Stop(context.Context) error",
			"package comment in root.go",
		} {
			if !have[want] {
				bad = append(bad, fmt.Sprintf("%s has no %s", folder, want))
			}
		}
	}
	return append(bad, gone(t, "components.go", slices.Collect(maps.Keys(otherComponents)))...)
}

// gone lists folders with an exception that are no longer in the tree.
func gone(t *Tree, file string, folders []string) []string {
	var bad []string
	for _, folder := range slices.Sorted(slices.Values(folders)) {
		if !hasFolder(t, folder) {
			bad = append(bad, fmt.Sprintf("%s has an exception in tools/houserules/%s and is gone", folder, file))
		}
	}
	return bad
}

// contract lists types, functions and methods of a package in the spelling of components.
func contract(files []*GoFile) map[string]bool {
	have := map[string]bool{}
	for _, f := range files {
		if f.AST.Doc != nil && strings.HasSuffix(f.Path, "/root.go") {
			have["package comment in root.go"] = true
		}
		for _, decl := range f.AST.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				have[signature(d)] = true
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s, ok := spec.(*ast.TypeSpec); ok {
						have["type "+s.Name.Name] = true
					}
				}
			}
		}
	}
	return have
}

// signature writes a function by the types of its receiver, parameters and results.
func signature(d *ast.FuncDecl) string {
	name := d.Name.Name
	if d.Recv != nil {
		name = strings.TrimPrefix(typeText(d.Recv.List[0].Type), "*") + "." + name
	}
	text := name + "(" + strings.Join(typesOf(d.Type.Params), ", ") + ")"
	switch results := typesOf(d.Type.Results); len(results) {
	case 0:
		return text
	case 1:
		return text + " " + results[0]
	default:
		return text + " (" + strings.Join(results, ", ") + ")"
	}
}

func typesOf(fields *ast.FieldList) []string {
	var out []string
	if fields == nil {
		return nil
	}
	for _, f := range fields.List {
		for range max(len(f.Names), 1) {
			out = append(out, typeText(f.Type))
		}
	}
	return out
}

func typeText(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return "*" + typeText(e.X)
	case *ast.SelectorExpr:
		return typeText(e.X) + "." + e.Sel.Name
	}
	return "?"
}
