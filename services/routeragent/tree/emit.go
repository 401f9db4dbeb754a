package tree

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/goyang/pkg/yang"
)

// Filter chooses between configuration and state.
type Filter func(*Schema) bool

// Filters of gNMI Get (section 3.3.1). Keys of lists belong to both.
var (
	All        Filter = func(*Schema) bool { return true }
	ConfigOnly Filter = func(s *Schema) bool { return s.Config }
	StateOnly  Filter = func(s *Schema) bool { return !s.Config }
)

// JSON is a node as a JSON value; ok is false if the filter leaves nothing.
// IETF qualifies member names at the top and wherever the module changes.
func (n *Node) JSON(f Filter, ietf bool) (any, bool) { return n.json(f, ietf, "") }

func (n *Node) json(f Filter, ietf bool, module string) (any, bool) {
	switch {
	case n.Schema.Kind == Leaf || n.Schema.Kind == LeafList:
		return jsonLeaf(n, ietf), f(n.Schema)
	case n.Schema.Kind == List && !n.isEntry():
		var out []any
		for _, k := range n.names() {
			if v, ok := n.Members[k].json(f, ietf, module); ok {
				out = append(out, v)
			}
		}
		return out, len(out) > 0
	}
	out := map[string]any{}
	data := false
	for _, name := range n.names() {
		c := n.Members[name]
		_, key := n.Keys[name]
		v, ok := c.json(f, ietf, c.Schema.Module)
		if key {
			v, ok = jsonLeaf(c, ietf), true
		} else {
			data = data || ok
		}
		if !ok {
			continue
		}
		if ietf && c.Schema.Module != module {
			name = c.Schema.Module + ":" + name
		}
		out[name] = v
	}
	return out, data
}

func jsonLeaf(n *Node, ietf bool) any {
	if ietf {
		return n.Value
	}
	if list, ok := n.Value.([]any); ok {
		out := make([]any, len(list))
		for i, v := range list {
			out[i] = plain(n.Schema, v)
		}
		return out
	}
	return plain(n.Schema, n.Value)
}

// plain is a value in gNMI's other JSON: 64-bit numbers are numbers, identities have no module.
func plain(s *Schema, v any) any {
	text, ok := v.(string)
	switch {
	case !ok:
		return v
	case Is64(s.Type):
		return json.Number(text)
	case s.Type.Kind == yang.Yidentityref:
		return text[strings.Index(text, ":")+1:]
	}
	return text
}

// Typed is a leaf's value in gNMI's own scalar types (encoding PROTO).
func (n *Node) Typed() *gnmi.TypedValue {
	if list, ok := n.Value.([]any); ok {
		arr := &gnmi.ScalarArray{}
		for _, v := range list {
			arr.Element = append(arr.Element, typedScalar(n.Schema, v))
		}
		return &gnmi.TypedValue{Value: &gnmi.TypedValue_LeaflistVal{LeaflistVal: arr}}
	}
	return typedScalar(n.Schema, n.Value)
}

func typedScalar(s *Schema, v any) *gnmi.TypedValue {
	switch x := v.(type) {
	case bool:
		return &gnmi.TypedValue{Value: &gnmi.TypedValue_BoolVal{BoolVal: x}}
	case json.Number:
		return typedNumber(string(x))
	case string:
		if Is64(s.Type) {
			return typedNumber(x)
		}
		return &gnmi.TypedValue{Value: &gnmi.TypedValue_StringVal{StringVal: x}}
	}
	return nil
}

func typedNumber(text string) *gnmi.TypedValue {
	if u, err := strconv.ParseUint(text, 10, 64); err == nil {
		return &gnmi.TypedValue{Value: &gnmi.TypedValue_UintVal{UintVal: u}}
	}
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return &gnmi.TypedValue{Value: &gnmi.TypedValue_IntVal{IntVal: i}}
	}
	f, _ := strconv.ParseFloat(text, 64)
	return &gnmi.TypedValue{Value: &gnmi.TypedValue_DoubleVal{DoubleVal: f}}
}

// Encode is a node in the encoding asked for; ok is false if the filter leaves nothing.
func (n *Node) Encode(f Filter, enc gnmi.Encoding) (*gnmi.TypedValue, bool) {
	leaf := n.Schema.Kind == Leaf || n.Schema.Kind == LeafList
	if leaf && enc == gnmi.Encoding_PROTO {
		return n.Typed(), f(n.Schema)
	}
	ietf := enc != gnmi.Encoding_JSON
	v, ok := n.JSON(f, ietf)
	if !ok {
		return nil, false
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, false
	}
	if ietf {
		return &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonIetfVal{JsonIetfVal: raw}}, true
	}
	return &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonVal{JsonVal: raw}}, true
}
