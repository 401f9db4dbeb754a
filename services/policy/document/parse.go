package document

import (
	"cmp"
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Parse reads one policy file. The Policy is nil when there are problems,
// which come in the order of the file.
func Parse(file, text string) (*Policy, []Problem) {
	r := &reader{file: file, places: map[string]*token.Token{}}
	p := defaultPolicy()
	if root := r.root(text); root != nil {
		r.read(root, reflect.ValueOf(p).Elem(), "", "policy:, queues: and redirect: or classes: at the left margin")
	}
	if len(r.problems) == 0 {
		*p = p.Normal()
		r.check(p)
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	return p, nil
}

// reader walks the syntax tree beside the Go type and remembers where each field was written.
type reader struct {
	file     string
	problems []Problem
	// places maps "queues[0].weight" to its value's token.
	places map[string]*token.Token
	// crossed are the guard rails the policy crosses, forced or not.
	crossed map[Guard]bool
}

func (r *reader) root(text string) ast.Node {
	f, err := parser.ParseBytes([]byte(text), 0)
	var syntax *yaml.SyntaxError
	switch {
	case errors.As(err, &syntax):
		r.problemAt(syntax.Token, firstLine(syntax.Message), "write YAML: key: value pairs, indented with spaces, each key once")
		return nil
	case err != nil:
		r.problemAt(nil, firstLine(err.Error()), "write YAML: key: value pairs, indented with spaces")
		return nil
	case len(f.Docs) == 0 || f.Docs[0].Body == nil:
		r.problemAt(nil, "the file is empty", "begin with policy: and a name; policies/hntes-two-queue.yaml is an example")
		return nil
	case len(f.Docs) > 1:
		r.problemAt(f.Docs[1].Start, "a second document begins here", "write one policy per file and remove ---")
		return nil
	}
	return f.Docs[0].Body
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func (r *reader) problemAt(t *token.Token, message, fix string) {
	p := Problem{File: r.file, Line: 1, Column: 1, Message: message, Fix: fix}
	if t != nil && t.Position != nil {
		p.Line, p.Column = t.Position.Line, t.Position.Column
	}
	r.problems = append(r.problems, p)
}

// problem reports at the place where path was written, or where its nearest ancestor was.
func (r *reader) problem(path, message, fix string) {
	for {
		if t, ok := r.places[path]; ok || path == "" {
			r.problemAt(t, message, fix)
			return
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
}
