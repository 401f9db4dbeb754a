package houserules

import (
	"bytes"
	"fmt"
	"go/ast"
	"path"
	"strings"
)

// maxLines is where a file is looked at twice.
const maxLines = 400

// longFiles may be longer, each for a reason.
var longFiles = map[string]string{}

// maxFunction is where a function is looked at twice.
const maxFunction = 60

// longFunctions, as path:name, may be longer: tables and switches.
var longFunctions = map[string]string{
	"cmd/millrace/services.go:services": "a table",
	"tools/houserules/rule.go:Rules":    "a table",
}

func functions(t *Tree) []string {
	var bad []string
	for _, f := range t.Written(false) {
		for _, decl := range f.AST.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || longFunctions[f.Path+":"+fn.Name.Name] != "" {
				continue
			}
			if n := t.fset.Position(fn.End()).Line - t.fset.Position(fn.Pos()).Line + 1; n > maxFunction {
				bad = append(bad, fmt.Sprintf("%s: %s has %d lines: name its steps, or give the reason in tools/houserules/size.go", t.at(fn), fn.Name.Name, n))
			}
		}
	}
	return bad
}

func size(t *Tree) []string { return sizeIn(t, longFiles) }

func sizeIn(t *Tree, longFiles map[string]string) []string {
	var bad []string
	for _, name := range t.Names() {
		if !sized(t, name) {
			continue
		}
		lines := bytes.Count(t.Files[name], []byte("\n"))
		_, allowed := longFiles[name]
		switch {
		case lines > maxLines && !allowed:
			bad = append(bad, fmt.Sprintf("%s has %d lines: split it by idea, or give the reason in tools/houserules/size.go", name, lines))
		case lines <= maxLines && allowed:
			bad = append(bad, fmt.Sprintf("%s has %d lines and needs no exception in tools/houserules/size.go any more", name, lines))
		}
	}
	for name := range longFiles {
		if _, ok := t.Files[name]; !ok {
			bad = append(bad, name+" has an exception in tools/houserules/size.go and is gone")
		}
	}
	return bad
}

// sized: Go, TypeScript, C and shell that people wrote, except tests and third-party or generated folders.
func sized(t *Tree, name string) bool {
	if f, ok := t.Go[name]; ok {
		return !f.Generated && !f.Test
	}
	if strings.Contains(name, "/testdata/") || strings.Contains(name, "/gen/") || strings.Contains(name, ".test.") {
		return false
	}
	switch path.Ext(name) {
	case ".ts", ".tsx", ".mjs", ".css", ".c", ".h", ".sh":
		return true
	}
	return false
}
