// Package houserules holds the rules of this repository as tests, so that a
// rule is either kept or changed here, in view of everybody.
//
// In: the files that git tracks.
// Out: violations, each with the reason why its rule exists.
// Next: the author of a change, who runs `make test`.
package houserules

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const module = "github.com/millrace/millrace/"

// Tree is what the rules look at.
type Tree struct {
	// Files maps slash-separated paths to contents.
	Files map[string][]byte
	// Go holds the parsed Go files among them, by path.
	Go   map[string]*GoFile
	fset *token.FileSet
}

// GoFile is one Go file.
type GoFile struct {
	Path      string
	AST       *ast.File
	Lines     int
	Generated bool
	Test      bool
}

// Folder is the package's folder.
func (f *GoFile) Folder() string { return path.Dir(f.Path) }

// Load reads the tracked files below root.
func Load(root string) (*Tree, error) {
	list, err := exec.Command("git", "-C", root, "ls-files", "-z").Output()
	if err != nil {
		return nil, fmt.Errorf("list tracked files: %w", err)
	}
	files := map[string][]byte{}
	for name := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) { // deleted and not committed yet
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read tracked file: %w", err)
		}
		files[name] = content
	}
	return NewTree(files)
}

var generatedHead = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// NewTree parses the Go files among files.
func NewTree(files map[string][]byte) (*Tree, error) {
	t := &Tree{Files: files, Go: map[string]*GoFile{}, fset: token.NewFileSet()}
	for name, content := range files {
		if path.Ext(name) != ".go" || strings.Contains(name, "/testdata/") {
			continue
		}
		mode := parser.ParseComments | parser.SkipObjectResolution
		if generatedHead.Match(content) { // tens of thousands of lines that no rule looks into
			mode |= parser.PackageClauseOnly
		}
		file, err := parser.ParseFile(t.fset, name, content, mode)
		if err != nil {
			return nil, fmt.Errorf("parse Go file: %w", err)
		}
		if ignored(content) {
			continue
		}
		t.Go[name] = &GoFile{
			Path: name, AST: file, Lines: bytes.Count(content, []byte("\n")),
			Generated: ast.IsGenerated(file), Test: strings.HasSuffix(name, "_test.go"),
		}
	}
	return t, nil
}

// ignored reports whether a file is no part of its package (//go:build ignore).
func ignored(content []byte) bool {
	for line := range strings.Lines(string(content)) {
		if strings.HasPrefix(line, "package ") {
			return false
		}
		if e, err := constraint.Parse(strings.TrimSpace(line)); err == nil && e.String() == "ignore" {
			return true
		}
	}
	return false
}

// Written returns the Go files that people wrote, in path order.
func (t *Tree) Written(tests bool) []*GoFile {
	var out []*GoFile
	for _, f := range t.Go {
		if !f.Generated && (tests || !f.Test) {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b *GoFile) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// Names returns all paths in order.
func (t *Tree) Names() []string {
	names := make([]string, 0, len(t.Files))
	for name := range t.Files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Under reports whether name is folder or below it.
func Under(name, folder string) bool {
	return name == folder || strings.HasPrefix(name, folder+"/")
}

func (t *Tree) at(n ast.Node) string {
	p := t.fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}
