package gnmiclient

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/openconfig/gnmi/proto/gnmi"
)

// ParsePath reads the string form of gNMI's path conventions, such as
// /interfaces/interface[name=ge-er]/state; "/" is the root. A backslash
// escapes "]" inside a key's value.
func ParsePath(s string) (*gnmi.Path, error) {
	rest, absolute := strings.CutPrefix(s, "/")
	if !absolute {
		return nil, fmt.Errorf("path %q does not begin with /", s)
	}
	p := &gnmi.Path{}
	if rest == "" {
		return p, nil
	}
	rest = strings.TrimSuffix(rest, "/")
	for more := true; more; {
		e := &gnmi.PathElem{}
		var err error
		if rest, err = parseElem(e, rest); err != nil {
			return nil, fmt.Errorf("path %q: %w", s, err)
		}
		p.Elem = append(p.Elem, e)
		rest, more = strings.CutPrefix(rest, "/")
	}
	return p, nil
}

// parseElem reads a name and its keys, and returns what follows: nothing, or the next element with its slash.
func parseElem(e *gnmi.PathElem, s string) (rest string, err error) {
	end := strings.IndexAny(s, "/[")
	if end < 0 {
		end = len(s)
	}
	e.Name, rest = s[:end], s[end:]
	if e.Name == "" || strings.ContainsAny(e.Name, `]\ `) {
		return "", fmt.Errorf("%q is not the name of a YANG node", e.Name)
	}
	for strings.HasPrefix(rest, "[") {
		var key, value string
		if key, value, rest, err = parseKey(rest[1:]); err != nil {
			return "", fmt.Errorf("keys of %s: %w", e.Name, err)
		}
		if e.Key == nil {
			e.Key = map[string]string{}
		}
		e.Key[key] = value
	}
	if rest != "" && rest[0] != '/' {
		return "", fmt.Errorf("%q follows the keys of %s", rest, e.Name)
	}
	return rest, nil
}

// parseKey reads name=value] and returns what follows.
func parseKey(s string) (key, value, rest string, err error) {
	key, s, found := strings.Cut(s, "=")
	if !found || key == "" || strings.ContainsAny(key, `[]\ `) {
		return "", "", "", fmt.Errorf("%q is not the name of a key", key)
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == ']' && b.Len() == 0:
			return "", "", "", fmt.Errorf("%s has no value", key)
		case s[i] == ']':
			return key, b.String(), s[i+1:], nil
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return "", "", "", fmt.Errorf("the value of %s has no end", key)
}

// MustPath is ParsePath for paths written in the program.
func MustPath(s string) *gnmi.Path {
	p, err := ParsePath(s)
	if err != nil {
		panic(err)
	}
	return p
}

// escape marks what would end a key's value, or its name.
var escape = strings.NewReplacer(`\`, `\\`, `=`, `\=`, `]`, `\]`)

// FormatPath is the inverse of ParsePath; keys come in alphabetical order.
func FormatPath(p *gnmi.Path) (string, error) {
	if len(p.GetElem()) == 0 {
		return "/", nil
	}
	var b strings.Builder
	for _, e := range p.GetElem() {
		if e.GetName() == "" {
			return "", fmt.Errorf("path %v: an element has no name", p)
		}
		b.WriteString("/" + e.GetName())
		for _, k := range slices.Sorted(maps.Keys(e.GetKey())) {
			if k == "" {
				return "", fmt.Errorf("path %v: a key of %s has no name", p, e.GetName())
			}
			b.WriteString("[" + k + "=" + escape.Replace(e.GetKey()[k]) + "]")
		}
	}
	return b.String(), nil
}

// Join puts a notification's prefix before an update's path.
func Join(prefix, path *gnmi.Path) *gnmi.Path {
	elems := make([]*gnmi.PathElem, 0, len(prefix.GetElem())+len(path.GetElem()))
	elems = append(elems, prefix.GetElem()...)
	return &gnmi.Path{Elem: append(elems, path.GetElem()...)}
}
