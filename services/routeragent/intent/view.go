package intent

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/millrace/millrace/services/routeragent/tree"
)

// view reads a tree by names; what is not there reads as nothing.
type view struct {
	node *tree.Node
	path string
}

func (v view) at(names ...string) view {
	for _, name := range names {
		v.path += "/" + name
		if v.node != nil {
			v.node = v.node.Members[name]
		}
	}
	return v
}

func (v view) exists() bool { return v.node != nil }

// entries lists a list in the order of its keys; numbers in numeric order.
func (v view) entries() []view {
	if v.node == nil {
		return nil
	}
	var out []view
	for _, e := range v.node.Entries() {
		path := v.path
		for _, k := range e.Schema.Keys {
			path += fmt.Sprintf("[%s=%s]", k, e.Keys[k])
		}
		out = append(out, view{e, path})
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
	l := v.at(names...)
	if l.node == nil || l.node.Value == nil {
		return ""
	}
	s := fmt.Sprint(l.node.Value)
	if module, bare, ok := strings.Cut(s, ":"); ok && strings.HasPrefix(module, "openconfig-") {
		return bare
	}
	return s
}

func (v view) list(names ...string) []string {
	l := v.at(names...)
	if l.node == nil {
		return nil
	}
	var out []string
	values, _ := l.node.Value.([]any)
	for _, x := range values {
		out = append(out, fmt.Sprint(x))
	}
	return out
}

// number of a leaf; ok is false if absent.
func (v view) number(names ...string) (uint64, bool) {
	l := v.at(names...)
	if l.node == nil {
		return 0, false
	}
	switch x := l.node.Value.(type) {
	case json.Number:
		n, err := strconv.ParseUint(string(x), 10, 64)
		return n, err == nil
	case string:
		n, err := strconv.ParseUint(x, 10, 64)
		return n, err == nil
	}
	return 0, false
}
