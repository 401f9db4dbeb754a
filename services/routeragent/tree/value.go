package tree

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/openconfig/gnmi/proto/gnmi"
)

// Value turns a gNMI value into JSON as the tree reads it. Scalars are
// accepted for leaves, JSON and JSON_IETF for everything.
func Value(v *gnmi.TypedValue) (any, error) {
	switch x := v.GetValue().(type) {
	case *gnmi.TypedValue_JsonIetfVal:
		return decode(x.JsonIetfVal)
	case *gnmi.TypedValue_JsonVal:
		return decode(x.JsonVal)
	case *gnmi.TypedValue_StringVal:
		return x.StringVal, nil
	case *gnmi.TypedValue_BoolVal:
		return x.BoolVal, nil
	case *gnmi.TypedValue_UintVal:
		return json.Number(strconv.FormatUint(x.UintVal, 10)), nil
	case *gnmi.TypedValue_IntVal:
		return json.Number(strconv.FormatInt(x.IntVal, 10)), nil
	case *gnmi.TypedValue_DoubleVal:
		return json.Number(strconv.FormatFloat(x.DoubleVal, 'g', -1, 64)), nil
	case *gnmi.TypedValue_LeaflistVal:
		out := []any{}
		for _, e := range x.LeaflistVal.GetElement() {
			ev, err := Value(e)
			if err != nil {
				return nil, err
			}
			out = append(out, ev)
		}
		return out, nil
	default:
		return nil, fmt.Errorf("values of type %T are not supported; send JSON, JSON_IETF or a scalar", x)
	}
}

// Supported is false for encodings of values that no path of ours takes (ASCII, bytes, protobuf).
func Supported(v *gnmi.TypedValue) bool {
	switch v.GetValue().(type) {
	case *gnmi.TypedValue_AsciiVal, *gnmi.TypedValue_BytesVal, *gnmi.TypedValue_ProtoBytes, *gnmi.TypedValue_AnyVal:
		return false
	}
	return true
}

func decode(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("decode JSON: %w", err)
	}
	if d.More() {
		return nil, fmt.Errorf("decode JSON: more than one value")
	}
	return v, unique(raw, v)
}

// leafValue brings a value into the one spelling RFC 7951 gives it, or refuses it.
func leafValue(s *Schema, v any) (any, error) {
	if s.Kind != LeafList {
		return s.check(v)
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	out := make([]any, 0, len(list))
	for _, e := range list {
		ev, err := s.check(e)
		if err != nil {
			return nil, err
		}
		out = append(out, ev)
	}
	if len(out) < 2 {
		return out, nil
	}
	seen := make(map[any]bool, len(out))
	for _, e := range out {
		if seen[e] {
			return nil, fmt.Errorf("%s: %v is in the list twice", s.Path(), e)
		}
		seen[e] = true
	}
	return out, nil
}

// text of a value as it stands in a key or a reference.
func text(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case json.Number:
		return string(x)
	}
	return fmt.Sprint(v)
}

func member(o map[string]any, name string) (any, bool) {
	if v, ok := o[name]; ok {
		return v, true
	}
	for k, v := range o {
		if _, bare, ok := strings.Cut(k, ":"); ok && bare == name {
			return v, true
		}
	}
	return nil, false
}

func sortedNames(o map[string]any) []string { return slices.Sorted(maps.Keys(o)) }
