package gnmiclient

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/openconfig/gnmi/proto/gnmi"
)

// Uint reads a counter. JSON_IETF carries 64-bit numbers as strings (RFC 7951
// section 6.1) and some targets send counters as int_val: both are accepted.
func Uint(v *gnmi.TypedValue) (uint64, bool) {
	switch x := v.GetValue().(type) {
	case *gnmi.TypedValue_UintVal:
		return x.UintVal, true
	case *gnmi.TypedValue_IntVal:
		return uint64(x.IntVal), x.IntVal >= 0
	case *gnmi.TypedValue_StringVal:
		return parseUint(x.StringVal)
	case *gnmi.TypedValue_JsonIetfVal:
		return parseUint(string(bytes.Trim(x.JsonIetfVal, `"`)))
	case *gnmi.TypedValue_JsonVal:
		return parseUint(string(bytes.Trim(x.JsonVal, `"`)))
	}
	return 0, false
}

func parseUint(s string) (uint64, bool) {
	n, err := strconv.ParseUint(s, 10, 64)
	return n, err == nil
}

// String reads a string or enumeration leaf.
func String(v *gnmi.TypedValue) (string, bool) {
	switch x := v.GetValue().(type) {
	case *gnmi.TypedValue_StringVal:
		return x.StringVal, true
	case *gnmi.TypedValue_JsonIetfVal:
		return parseString(x.JsonIetfVal)
	case *gnmi.TypedValue_JsonVal:
		return parseString(x.JsonVal)
	}
	return "", false
}

func parseString(raw []byte) (string, bool) {
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}
