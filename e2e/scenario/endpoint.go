package scenario

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/millrace/millrace/internal/units"
)

// UnmarshalText reads NODE:INTERFACE.
func (e *Endpoint) UnmarshalText(text []byte) error {
	node, name, found := strings.Cut(string(text), ":")
	if !found || node == "" || name == "" {
		return fmt.Errorf("%q is not NODE:INTERFACE, for example WR:ge-er", text)
	}
	e.Node, e.Interface = node, name
	return nil
}

// MarshalText is the inverse of UnmarshalText.
func (e Endpoint) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

func (e Endpoint) String() string { return e.Node + ":" + e.Interface }

// defaultBuffer is 100 ms at line rate.
func defaultBuffer(r units.Rate) units.Size { return units.Size(uint64(r) / 8 / 10) }

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
