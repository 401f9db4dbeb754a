package scenario

import (
	"encoding"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/millrace/millrace/internal/units"
)

// located turns an error of the YAML library into name:line:column: text.
func located(name string, file *ast.File, err error) error {
	var at yaml.Error
	if errors.As(err, &at) && at.GetToken() != nil {
		p := at.GetToken().Position
		return fmt.Errorf("%s:%d:%d: %s", name, p.Line, p.Column, at.GetMessage())
	}
	if file != nil {
		finder := &textFinder{err: err}
		ast.Walk(finder, file.Docs[0].Body)
		if finder.at != nil {
			return fmt.Errorf("%s:%d:%d: %w", name, finder.at.Line, finder.at.Column, err)
		}
	}
	return fmt.Errorf("%s:1:1: %w", name, err)
}

// textFields are the keys whose values have a text form of their own. The
// library does not say where such a value stands when it refuses one, so the
// finder asks each again until one gives the same answer.
var textFields = map[string]func() encoding.TextUnmarshaler{
	"a":          func() encoding.TextUnmarshaler { return new(Endpoint) },
	"b":          func() encoding.TextUnmarshaler { return new(Endpoint) },
	"frame_rate": func() encoding.TextUnmarshaler { return new(units.Rate) },
	"rate":       func() encoding.TextUnmarshaler { return new(units.Rate) },
	"buffer":     func() encoding.TextUnmarshaler { return new(units.Size) },
	"packet":     func() encoding.TextUnmarshaler { return new(units.Size) },
	"address":    func() encoding.TextUnmarshaler { return new(netip.Prefix) },
	"gateway":    func() encoding.TextUnmarshaler { return new(netip.Addr) },
}

type textFinder struct {
	err error
	at  *token.Position
}

// Visit implements ast.Visitor.
func (f *textFinder) Visit(n ast.Node) ast.Visitor {
	pair, ok := n.(*ast.MappingValueNode)
	if !ok || f.at != nil {
		return f
	}
	make, known := textFields[pair.Key.String()]
	if !known {
		return f
	}
	t := pair.Value.GetToken()
	if err := make().UnmarshalText([]byte(t.Value)); err != nil && strings.Contains(f.err.Error(), err.Error()) {
		f.at = t.Position
	}
	return f
}

// position finds the line and column of a path such as $.links[2].rate. A key
// that is not in the file is reported where the nearest parent begins.
func position(file *ast.File, path string) string {
	for path != "" {
		if p, err := yaml.PathString(path); err == nil {
			if node, err := p.FilterFile(file); err == nil && node != nil {
				at := start(node)
				return fmt.Sprintf("%d:%d", at.Line, at.Column)
			}
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return "1:1"
}

// start is where a node begins in the file. A mapping's own token is its first
// colon, so its first key is what a reader wants to be pointed at.
func start(n ast.Node) *token.Position {
	switch n := n.(type) {
	case *ast.MappingNode:
		if len(n.Values) > 0 {
			return n.Values[0].Key.GetToken().Position
		}
	case *ast.MappingValueNode:
		return n.Key.GetToken().Position
	}
	return n.GetToken().Position
}
