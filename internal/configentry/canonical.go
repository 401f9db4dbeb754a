package configentry

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Canonical spells JSON in the one way in which entries are stored and compared:
// keys sorted, two spaces, no empty containers, list entries in the order of
// their keys, member names without their OpenConfig module (every entry's
// members are of one module, RFC 7951 section 4 lets us leave it out below the
// top; Wire puts it back on the top).
func Canonical(raw []byte) (string, error) {
	v, err := decode(raw)
	if err != nil {
		return "", err
	}
	return encode(normal(v)), nil
}

// CanonicalValue is Canonical of what encoding/json makes of v, without marshalling it first: maps by name, lists,
// strings, booleans and whole numbers are what an entry is made of, and all it takes.
func CanonicalValue(v any) (string, error) {
	generic, err := generic(v)
	if err != nil {
		return "", err
	}
	return encode(normal(generic)), nil
}

// generic turns Go's types into those decode makes.
func generic(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, string, json.Number:
		return v, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, value := range v {
			var err error
			if out[name], err = generic(value); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Slice:
		out := make([]any, r.Len())
		for i := range out {
			var err error
			if out[i], err = generic(r.Index(i).Interface()); err != nil {
				return nil, err
			}
		}
		return out, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return json.Number(strconv.FormatInt(r.Int(), 10)), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return json.Number(strconv.FormatUint(r.Uint(), 10)), nil
	}
	return nil, fmt.Errorf("%T has no canonical form", v)
}

// bareIdentities spells identities without their module; what is no JSON stays as it is.
func bareIdentities(s string) string {
	v, err := decode([]byte(s))
	if err != nil {
		return s
	}
	return encode(mapStrings(v, func(s string) string {
		if module, identity, found := strings.Cut(s, ":"); found && strings.HasPrefix(module, "openconfig-") {
			return identity
		}
		return s
	}))
}

// Wire qualifies the top members of an entry with their module, as JSON_IETF requires (gNMI section 2.3.1).
func Wire(path, body string) ([]byte, error) {
	kind, _, _, ok := Of(path)
	if !ok {
		return nil, fmt.Errorf("%s is no managed config entry", path)
	}
	v, err := decode([]byte(body))
	if err != nil {
		return nil, fmt.Errorf("read entry %s: %w", path, err)
	}
	top, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("entry %s is not a JSON object", path)
	}
	out := make(map[string]any, len(top))
	for name, value := range top {
		if !strings.Contains(name, ":") { // an augment's has its own
			name = kind.Module + ":" + name
		}
		out[name] = value
	}
	return json.Marshal(out)
}

func decode(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // uint32 and int64 keep their digits
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("decode JSON: %w", err)
	}
	return v, nil
}

func encode(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	e.Encode(v) //nolint:errcheck // what was decoded encodes
	return strings.TrimSuffix(b.String(), "\n")
}

// bareName drops an OpenConfig module from a member name and keeps others (te-qos-ext:).
func bareName(s string) string {
	if module, name, found := strings.Cut(s, ":"); found && strings.HasPrefix(module, "openconfig-") {
		return name
	}
	return s
}

func normal(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, value := range v {
			if value = normal(value); value != nil {
				out[bareName(name)] = value
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, value := range v {
			if value = normal(value); value != nil {
				out = append(out, value)
			}
		}
		slices.SortStableFunc(out, byKey)
		if len(out) == 0 {
			return nil
		}
		return out
	default:
		return v
	}
}

// byKey orders list entries by their scalar members (their keys among them)
// and leaf-list values by themselves; numbers as numbers.
func byKey(a, b any) int {
	x, isObject := a.(map[string]any)
	y, both := b.(map[string]any)
	if !isObject || !both {
		return scalarCompare(a, b)
	}
	names := make([]string, 0, len(x))
	for name := range x {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if c := scalarCompare(x[name], y[name]); c != 0 {
			return c
		}
	}
	return 0
}

func scalarCompare(a, b any) int {
	x, xn := a.(json.Number)
	y, yn := b.(json.Number)
	if xn && yn {
		i, _ := x.Float64()
		j, _ := y.Float64()
		return cmp.Compare(i, j)
	}
	s, xs := a.(string)
	t, ys := b.(string)
	if xs && ys {
		return cmp.Compare(s, t)
	}
	return 0
}

func mapStrings(v any, f func(string) string) any {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			v[name] = mapStrings(value, f)
		}
		return v
	case []any:
		for i, value := range v {
			v[i] = mapStrings(value, f)
		}
		return v
	case string:
		return f(v)
	default:
		return v
	}
}
