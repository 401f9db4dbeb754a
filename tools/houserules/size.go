package houserules

import (
	"bytes"
	"fmt"
	"path"
	"strings"
)

// maxLines is where a file is looked at twice.
const maxLines = 400

// longFiles may be longer, each for a reason.
var longFiles = map[string]string{}

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
