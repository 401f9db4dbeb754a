package intent

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/millrace/millrace/services/routeragent/tree"
)

// view reads a tree by names; an absent node reads as an empty one.
type view struct {
	node *tree.Node
	path string
}

func (v view) at(names ...string) view {
	v.node = v.below(names)
	for _, name := range names {
		v.path += "/" + name
	}
	return v
}

// below is at without the path for error messages, which most values do not need.
func (v view) below(names []string) *tree.Node {
	n := v.node
	for _, name := range names {
		if n == nil {
			return nil
		}
		n = n.Members[name]
	}
	return n
}

func (v view) exists() bool { return v.node != nil }

// entries lists a list in the order of its keys; numbers in numeric order.
func (v view) entries() []view {
	if v.node == nil {
		return nil
	}
	entries := v.node.Entries()
	out := make([]view, len(entries))
	for i, e := range entries {
		path := v.path
		for _, k := range e.Schema.Keys {
			path += "[" + k + "=" + e.Keys[k] + "]"
		}
		out[i] = view{e, path}
	}
	return out
}

// entry finds the entry of a list with one key; a view of nothing if there is none.
func (v view) entry(key string) view {
	v.path += "[" + key + "]"
	if v.node != nil {
		v.node = v.node.Members[key]
	}
	return v
}

// text of a leaf, identities without their module; empty if absent.
func (v view) text(names ...string) string {
	n := v.below(names)
	if n == nil || n.Value == nil {
		return ""
	}
	s := textOf(n.Value)
	if strings.HasPrefix(s, "openconfig-") {
		if _, bare, ok := strings.Cut(s, ":"); ok {
			return bare
		}
	}
	return s
}

func textOf(value any) string {
	switch x := value.(type) {
	case string:
		return x
	case json.Number:
		return string(x)
	}
	return fmt.Sprint(value)
}

func (v view) list(names ...string) []string {
	n := v.below(names)
	if n == nil {
		return nil
	}
	var out []string
	values, _ := n.Value.([]any)
	for _, x := range values {
		out = append(out, textOf(x))
	}
	return out
}

// number of a leaf; ok is false if absent.
func (v view) number(names ...string) (uint64, bool) {
	l := v.below(names)
	if l == nil {
		return 0, false
	}
	switch x := l.Value.(type) {
	case json.Number:
		n, err := strconv.ParseUint(string(x), 10, 64)
		return n, err == nil
	case string:
		n, err := strconv.ParseUint(x, 10, 64)
		return n, err == nil
	}
	return 0, false
}
