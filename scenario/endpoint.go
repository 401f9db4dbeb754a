package scenario

import (
	"fmt"
	"strings"

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
