package model

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Check brings a value into the one spelling that RFC 7951 gives it, or refuses
// it. Integers of 64 bits are taken as JSON numbers too, because JSON (not IETF)
// and gNMI's scalars spell them so.
func (t *Type) Check(v any) (any, error) {
	out, want := t.check(v)
	if want != "" {
		return nil, fmt.Errorf("%v is not %s", v, want)
	}
	return out, nil
}

// check says what is wanted if the value is not of the type.
func (t *Type) check(v any) (out any, want string) {
	switch t.Kind {
	case Boolean:
		if b, ok := v.(bool); ok {
			return b, ""
		}
		return nil, "true or false"
	case String:
		return t.checkString(v)
	case Integer:
		return t.checkInteger(v)
	case Integer64:
		return t.checkInteger64(v)
	case Enumeration, Identityref:
		return t.checkWord(v)
	case Union:
		return t.checkUnion(v)
	}
	return v, "" // decimal64: the agent has state of this type and no configuration
}

func (t *Type) checkString(v any) (out any, want string) {
	text, ok := v.(string)
	if !ok {
		return nil, "a string"
	}
	if len(t.Length) > 0 && !t.Length.hold(false, uint64(utf8.RuneCountInString(text))) {
		return nil, "of length " + t.Length.String()
	}
	for i, match := range t.matchers() {
		if !match(text) {
			return nil, "of the form " + t.Patterns[i]
		}
	}
	return v, ""
}

func (t *Type) checkInteger(v any) (out any, want string) {
	number, ok := v.(json.Number)
	if !ok {
		return nil, "a number"
	}
	n, err := strconv.ParseInt(string(number), 10, 64)
	if err != nil { // 1e3 and 1.0 are whole numbers too
		f, err := strconv.ParseFloat(string(number), 64)
		if err != nil || f != math.Trunc(f) || math.Abs(f) > math.MaxUint32 {
			return nil, "a whole number in " + t.Range.String()
		}
		n = int64(f)
	}
	if !t.Range.hold(n < 0, magnitude(n)) {
		return nil, "in the range " + t.Range.String()
	}
	if canonical := strconv.FormatInt(n, 10); canonical != string(number) {
		return json.Number(canonical), ""
	}
	return v, ""
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

func (t *Type) checkInteger64(v any) (out any, want string) {
	var digits string
	switch x := v.(type) {
	case string:
		digits = x
	case json.Number:
		digits = string(x)
	default:
		return nil, "a number"
	}
	if t.Range[0].Min < 0 {
		if n, err := strconv.ParseInt(digits, 10, 64); err == nil && t.Range.hold(n < 0, magnitude(n)) {
			return strconv.FormatInt(n, 10), ""
		}
	} else if n, err := strconv.ParseUint(digits, 10, 64); err == nil && t.Range.hold(false, n) {
		return strconv.FormatUint(n, 10), ""
	}
	return nil, "a whole number in " + t.Range.String()
}

// bare is the name of an identity without its module.
func bare(word string) string { return word[strings.IndexByte(word, ':')+1:] }

func (t *Type) checkWord(v any) (out any, want string) {
	if w, ok := v.(string); ok {
		i, found := slices.BinarySearchFunc(t.Words, bare(w), func(have, name string) int { return strings.Compare(bare(have), name) })
		if found {
			return t.Words[i], ""
		}
	}
	return nil, "a word of this leaf"
}

func (t *Type) checkUnion(v any) (out any, want string) {
	for _, m := range t.Members {
		if out, want := m.check(v); want == "" {
			return out, ""
		}
	}
	return nil, "of any type this leaf takes"
}
