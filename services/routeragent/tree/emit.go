package tree

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/openconfig/gnmi/proto/gnmi"

	"github.com/millrace/millrace/services/routeragent/model"
)

// Filter chooses between configuration and state.
type Filter func(*Schema) bool

// Filters of gNMI Get (section 3.3.1). Keys of lists belong to both.
var (
	All        Filter = func(*Schema) bool { return true }
	ConfigOnly Filter = func(s *Schema) bool { return s.Config }
	StateOnly  Filter = func(s *Schema) bool { return !s.Config }
)

// AppendJSON appends a node as RFC 7951 JSON, the same bytes for the same data;
// nothing is appended, and ok is false, if the filter leaves nothing.
func (n *Node) AppendJSON(dst []byte, f Filter) (out []byte, ok bool) {
	return n.appendJSON(dst, f, "")
}

func (n *Node) appendJSON(dst []byte, f Filter, module string) ([]byte, bool) {
	switch {
	case n.Members == nil:
		return appendValue(dst, n.Value), f(n.Schema)
	case n.Schema.Kind == List && !n.isEntry():
		return n.appendList(dst, f, module)
	}
	start, data := len(dst), false
	dst = append(dst, '{')
	for _, name := range n.Schema.names {
		c := n.Members[name]
		if c == nil {
			continue
		}
		before := len(dst)
		dst = appendName(dst, c.Schema, module)
		var ok bool
		if dst, ok = c.appendJSON(dst, f, c.Schema.Module); !ok && n.Keys[name] == "" {
			dst = dst[:before]
			continue
		}
		data = data || (ok && n.Keys[name] == "")
		dst = append(dst, ',')
	}
	if !data {
		return dst[:start], false
	}
	dst[len(dst)-1] = '}'
	return dst, true
}

func (n *Node) appendList(dst []byte, f Filter, module string) ([]byte, bool) {
	start := len(dst)
	dst = append(dst, '[')
	for _, id := range n.names() {
		var ok bool
		if dst, ok = n.Members[id].appendJSON(dst, f, module); ok {
			dst = append(dst, ',')
		}
	}
	if len(dst) == start+1 {
		return dst[:start], false
	}
	dst[len(dst)-1] = ']'
	return dst, true
}

// appendName qualifies a member where the module changes (RFC 7951 section 4).
func appendName(dst []byte, s *Schema, module string) []byte {
	dst = append(dst, '"')
	if s.Module != module {
		dst = append(append(dst, s.Module...), ':')
	}
	return append(append(dst, s.Name...), '"', ':')
}

func appendValue(dst []byte, v any) []byte {
	switch x := v.(type) {
	case string:
		return appendString(dst, x)
	case json.Number:
		return append(dst, x...)
	case []any:
		dst = append(dst, '[')
		for i, e := range x {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendValue(dst, e)
		}
		return append(dst, ']')
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return append(dst, "null"...)
	}
	return append(dst, raw...)
}

// appendString writes plain text as it is and leaves the rest to encoding/json.
func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			raw, _ := json.Marshal(s)
			return append(dst, raw...)
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}

// JSON is a node in gNMI's other JSON, without modules; ok is false if the filter leaves nothing.
func (n *Node) JSON(f Filter) (v any, ok bool) {
	switch {
	case n.Schema.Kind == Leaf || n.Schema.Kind == LeafList:
		return plainLeaf(n), f(n.Schema)
	case n.Schema.Kind == List && !n.isEntry():
		var out []any
		for _, k := range n.names() {
			if v, ok := n.Members[k].JSON(f); ok {
				out = append(out, v)
			}
		}
		return out, len(out) > 0
	}
	out := map[string]any{}
	data := false
	for _, name := range n.names() {
		c := n.Members[name]
		if _, key := n.Keys[name]; key {
			out[name] = plainLeaf(c)
			continue
		}
		if v, ok := c.JSON(f); ok {
			out[name], data = v, true
		}
	}
	return out, data
}

func plainLeaf(n *Node) any {
	list, ok := n.Value.([]any)
	if !ok {
		return plain(n.Schema, n.Value)
	}
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = plain(n.Schema, v)
	}
	return out
}

// plain is a value in gNMI's other JSON: 64-bit numbers are numbers, identities have no module.
func plain(s *Schema, v any) any {
	text, ok := v.(string)
	switch {
	case !ok:
		return v
	case s.Type.Is64():
		return json.Number(text)
	case s.Type.Kind == model.Identityref:
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
		if s.Type.Is64() {
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

// Encode is a node in the encoding requested; ok is false if the filter leaves nothing.
func (n *Node) Encode(f Filter, enc gnmi.Encoding) (*gnmi.TypedValue, bool) {
	leaf := n.Schema.Kind == Leaf || n.Schema.Kind == LeafList
	if leaf && enc == gnmi.Encoding_PROTO {
		return n.Typed(), f(n.Schema)
	}
	if enc != gnmi.Encoding_JSON {
		raw, ok := n.AppendJSON(nil, f)
		return &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonIetfVal{JsonIetfVal: raw}}, ok
	}
	v, ok := n.JSON(f)
	if !ok {
		return nil, false
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, false
	}
	return &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonVal{JsonVal: raw}}, true
}
