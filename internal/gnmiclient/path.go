package gnmiclient

import (
	"fmt"
	"strings"

	"github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/ygot/ygot"
)

// ParsePath reads the string form of gNMI's path conventions, such as
// /interfaces/interface[name=ge-er]/state; "/" is the root. A backslash
// escapes "]" inside a key's value.
func ParsePath(s string) (*gnmi.Path, error) {
	if !strings.HasPrefix(s, "/") {
		return nil, fmt.Errorf("path %q does not begin with /", s)
	}
	if s == "/" {
		return &gnmi.Path{}, nil
	}
	p, err := ygot.StringToStructuredPath(s)
	if err != nil {
		return nil, fmt.Errorf("path %q: %w", s, err)
	}
	for _, e := range p.GetElem() {
		if e.GetName() == "" || strings.ContainsAny(e.GetName(), `/[]\`) {
			return nil, fmt.Errorf("path %q: %q is not the name of a YANG node", s, e.GetName())
		}
	}
	return p, nil
}

// MustPath is ParsePath for paths written in the program.
func MustPath(s string) *gnmi.Path {
	p, err := ParsePath(s)
	if err != nil {
		panic(err)
	}
	return p
}

// FormatPath is the inverse of ParsePath; keys come in alphabetical order.
func FormatPath(p *gnmi.Path) (string, error) {
	if len(p.GetElem()) == 0 {
		return "/", nil
	}
	s, err := ygot.PathToString(p)
	if err != nil {
		return "", fmt.Errorf("path %v: %w", p, err)
	}
	return s, nil
}

// Join puts a notification's prefix before an update's path.
func Join(prefix, path *gnmi.Path) *gnmi.Path {
	elems := make([]*gnmi.PathElem, 0, len(prefix.GetElem())+len(path.GetElem()))
	elems = append(elems, prefix.GetElem()...)
	return &gnmi.Path{Elem: append(elems, path.GetElem()...)}
}
