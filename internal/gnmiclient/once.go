package gnmiclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/openconfig/gnmi/proto/gnmi"
)

// StateJSON reads a container as one JSON document: by Get, or by Subscribe ONCE from a router whose Get
// does not return state. Junos is reported to refuse Get and to send nothing in JSON_IETF
// (docs/reference/junos.md), so leaves are requested one by one, in PROTO where the router supports it.
func (c *Client) StateJSON(ctx context.Context, path string) ([]byte, error) {
	doc, refused := c.GetJSON(ctx, gnmi.GetRequest_STATE, path)
	if refused == nil || ctx.Err() != nil {
		return doc, refused
	}
	root, err := ParsePath(path)
	if err != nil {
		return nil, err
	}
	leaves, err := c.leaves(ctx, root)
	if err != nil {
		return nil, errors.Join(refused, err)
	}
	tree := map[string]any{}
	for _, l := range leaves {
		if len(l.path) > len(root.GetElem()) {
			place(tree, l.path[len(root.GetElem()):], l.value)
		}
	}
	if len(tree) == 0 {
		return nil, refused
	}
	return json.Marshal(plain(tree))
}

type leaf struct {
	path  []*gnmi.PathElem
	value any
}

func (c *Client) leaves(ctx context.Context, root *gnmi.Path) ([]leaf, error) {
	notifications, err := c.Once(ctx, c.encoding(), root)
	if err != nil {
		return nil, err
	}
	var out []leaf
	for _, n := range notifications {
		for _, u := range n.GetUpdate() {
			v, err := scalar(u.GetVal())
			if err != nil {
				return nil, err
			}
			out = append(out, leaf{Join(n.GetPrefix(), u.GetPath()).GetElem(), v})
		}
	}
	return out, nil
}

func scalar(v *gnmi.TypedValue) (any, error) {
	switch x := v.GetValue().(type) {
	case *gnmi.TypedValue_StringVal:
		return x.StringVal, nil
	case *gnmi.TypedValue_UintVal:
		return x.UintVal, nil
	case *gnmi.TypedValue_IntVal:
		return x.IntVal, nil
	case *gnmi.TypedValue_BoolVal:
		return x.BoolVal, nil
	case *gnmi.TypedValue_DoubleVal:
		return x.DoubleVal, nil
	case *gnmi.TypedValue_LeaflistVal:
		list := []any{}
		for _, e := range x.LeaflistVal.GetElement() {
			v, err := scalar(e)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case *gnmi.TypedValue_JsonIetfVal:
		return json.RawMessage(x.JsonIetfVal), nil
	case *gnmi.TypedValue_JsonVal:
		return json.RawMessage(x.JsonVal), nil
	}
	return nil, fmt.Errorf("a value of type %T is no leaf", v.GetValue())
}

// list is a YANG list on the way to JSON: entries by their keys.
type list map[string]map[string]any

// place puts a value into the tree; lists on its way become arrays in plain.
func place(tree map[string]any, path []*gnmi.PathElem, value any) {
	name := path[0].GetName()
	if len(path) == 1 && len(path[0].GetKey()) == 0 {
		tree[name] = value
		return
	}
	next := child(tree, name, path[0].GetKey())
	if next != nil && len(path) > 1 {
		place(next, path[1:], value)
	}
}

// child is the container, or the list's entry; nil where a leaf stands in its place.
func child(tree map[string]any, name string, keys map[string]string) map[string]any {
	if len(keys) == 0 {
		if tree[name] == nil {
			tree[name] = map[string]any{}
		}
		c, _ := tree[name].(map[string]any)
		return c
	}
	if tree[name] == nil {
		tree[name] = list{}
	}
	l, ok := tree[name].(list)
	if !ok {
		return nil
	}
	var id strings.Builder
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		fmt.Fprintf(&id, "%q=%q,", k, keys[k])
	}
	if l[id.String()] == nil {
		entry := map[string]any{}
		for k, v := range keys {
			entry[k] = v
		}
		l[id.String()] = entry
	}
	return l[id.String()]
}

func plain(v any) any {
	switch x := v.(type) {
	case map[string]any:
		for name, member := range x {
			x[name] = plain(member)
		}
	case list:
		out := make([]any, 0, len(x))
		for _, id := range slices.Sorted(maps.Keys(x)) {
			out = append(out, plain(x[id]))
		}
		return out
	}
	return v
}
