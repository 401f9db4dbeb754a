package tree

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/openconfig/goyang/pkg/yang"
	"github.com/openconfig/ygot/util"
	"github.com/openconfig/ygot/ygot"

	"github.com/millrace/millrace/services/routeragent/oc"
)

// checker brings one value into the one spelling RFC 7951 gives it, or refuses
// it. It is made once per leaf from the YANG type; ygot, which needs the whole
// tree and microseconds per leaf to say the same, is the oracle in the tests.
// Numbers of 64 bits are taken as JSON numbers too, because JSON (not IETF) and
// gNMI's scalars spell them so.
type checker func(v any) (any, error)

func newChecker(root, s *Schema, t *yang.YangType) checker {
	switch t.Kind {
	case yang.Ybool:
		return s.checkBool
	case yang.Ystring:
		return stringChecker(s, t)
	case yang.Yint8, yang.Yint16, yang.Yint32, yang.Yuint8, yang.Yuint16, yang.Yuint32:
		return numberChecker(s, t)
	case yang.Yuint64, yang.Yint64:
		return bigNumberChecker(s, t)
	case yang.Yenum, yang.Yidentityref:
		return enumChecker(s)
	case yang.Yleafref:
		return leafrefChecker(root, s)
	case yang.Yunion:
		return unionChecker(root, s, t)
	}
	// decimal64, binary, bits and empty: the agent has state of such types and no configuration.
	return func(v any) (any, error) { return v, nil }
}

func (s *Schema) wrong(v any, want string) error {
	return fmt.Errorf("%s: %v is not %s", s.Path(), v, want)
}

func (s *Schema) checkBool(v any) (any, error) {
	if b, ok := v.(bool); ok {
		return b, nil
	}
	return nil, s.wrong(v, "true or false")
}

// shortcuts answer for the patterns that a large configuration is full of; a
// regular expression takes microseconds. Fuzzed against the pattern itself.
var shortcuts = map[string]func(string) bool{
	`^(([0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])(\.([0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])){3})$`:                          isIPv4,
	`^(([0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])(\.([0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])){3}/([0-9]|[12][0-9]|3[0-2]))$`: isIPv4Prefix,
}

func isIPv4(s string) bool {
	for i := range 4 {
		part := s
		if i < 3 {
			var ok bool
			if part, s, ok = strings.Cut(s, "."); !ok {
				return false
			}
		}
		if !isDecimal(part, 255) {
			return false
		}
	}
	return true
}

func isIPv4Prefix(s string) bool {
	address, bits, ok := strings.Cut(s, "/")
	return ok && isDecimal(bits, 32) && isIPv4(address)
}

// isDecimal is true for a number up to most without leading zeros.
func isDecimal(s string, most int) bool {
	if len(s) == 0 || len(s) > 3 || (s[0] == '0' && len(s) > 1) {
		return false
	}
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n <= most
}

// matcher of a pattern, POSIX where OpenConfig gives one, as ygot chooses.
func matcher(pattern string, posix bool) func(string) bool {
	if m := shortcuts[pattern]; m != nil && posix {
		return m
	}
	if posix {
		return regexp.MustCompilePOSIX(pattern).MatchString
	}
	return regexp.MustCompile(pattern).MatchString
}

func stringChecker(s *Schema, t *yang.YangType) checker {
	patterns, posix := util.SanitizedPattern(t)
	var match []func(string) bool
	for _, p := range patterns {
		match = append(match, matcher(p, posix))
	}
	lengths := t.Length
	return func(v any) (any, error) {
		text, ok := v.(string)
		if !ok {
			return nil, s.wrong(v, "a string")
		}
		if len(lengths) > 0 && !inRange(lengths, false, uint64(utf8.RuneCountInString(text))) {
			return nil, s.wrong(v, "of length "+lengths.String())
		}
		for i, m := range match {
			if !m(text) {
				return nil, s.wrong(v, "of the form "+patterns[i])
			}
		}
		return text, nil
	}
}

// inRange is true if a number (its sign and its magnitude) lies in a YANG range.
func inRange(r yang.YangRange, negative bool, magnitude uint64) bool {
	n := yang.Number{Value: magnitude, Negative: negative && magnitude != 0}
	for _, part := range r {
		if !n.Less(part.Min) && !part.Max.Less(n) {
			return true
		}
	}
	return false
}

var bounds = map[yang.TypeKind]yang.YangRange{
	yang.Yint8: yang.Int8Range, yang.Yint16: yang.Int16Range, yang.Yint32: yang.Int32Range, yang.Yint64: yang.Int64Range,
	yang.Yuint8: yang.Uint8Range, yang.Yuint16: yang.Uint16Range, yang.Yuint32: yang.Uint32Range, yang.Yuint64: yang.Uint64Range,
}

func rangeOf(t *yang.YangType) yang.YangRange {
	if len(t.Range) > 0 {
		return t.Range
	}
	return bounds[t.Kind]
}

func numberChecker(s *Schema, t *yang.YangType) checker {
	allowed := rangeOf(t)
	return func(v any) (any, error) {
		number, ok := v.(json.Number)
		if !ok {
			return nil, s.wrong(v, "a number")
		}
		n, err := strconv.ParseInt(string(number), 10, 64)
		if err != nil { // 1e3 and 1.0 are whole numbers too
			f, err := strconv.ParseFloat(string(number), 64)
			if err != nil || f != math.Trunc(f) || math.Abs(f) > math.MaxInt32*2+1 {
				return nil, s.wrong(v, "a whole number in "+allowed.String())
			}
			n = int64(f)
		}
		if !inRange(allowed, n < 0, magnitude(n)) {
			return nil, s.wrong(v, "in the range "+allowed.String())
		}
		if canonical := strconv.FormatInt(n, 10); canonical != string(number) {
			return json.Number(canonical), nil
		}
		return number, nil
	}
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// bigNumberChecker is for 64 bits, which RFC 7951 section 6.1 writes as strings.
func bigNumberChecker(s *Schema, t *yang.YangType) checker {
	allowed := rangeOf(t)
	return func(v any) (any, error) {
		var digits string
		switch x := v.(type) {
		case string:
			digits = x
		case json.Number:
			digits = string(x)
		default:
			return nil, s.wrong(v, "a number")
		}
		var n uint64
		negative := false
		var err error
		if t.Kind == yang.Yint64 {
			var i int64
			i, err = strconv.ParseInt(digits, 10, 64)
			n, negative = magnitude(i), i < 0
		} else {
			n, err = strconv.ParseUint(digits, 10, 64)
		}
		if err != nil || !inRange(allowed, negative, n) {
			return nil, s.wrong(v, "a whole number in "+allowed.String())
		}
		if negative {
			return "-" + strconv.FormatUint(n, 10), nil
		}
		return strconv.FormatUint(n, 10), nil
	}
}

// words of an enumeration or identity, by their bare name, as RFC 7951 spells them.
func words(s *Schema) map[string]string {
	out := map[string]string{}
	for _, t := range oc.ΛEnumTypes[s.Path()] {
		e := reflect.Zero(t).Interface().(ygot.GoEnum)
		for _, d := range e.ΛMap()[t.Name()] {
			out[d.Name] = d.Name
			if d.DefiningModule != "" {
				out[d.Name] = d.DefiningModule + ":" + d.Name
			}
		}
	}
	return out
}

func enumChecker(s *Schema) checker {
	known := words(s)
	return func(v any) (any, error) {
		if w, ok := v.(string); ok {
			if canonical, ok := known[util.StripModulePrefix(w)]; ok {
				return canonical, nil
			}
		}
		return nil, s.wrong(v, "a word of this leaf")
	}
}

// leafrefChecker checks a reference as what it refers to; whether that exists is Validate's to ask.
func leafrefChecker(root, s *Schema) checker {
	t := referred(root, s)
	return func(v any) (any, error) {
		if t == nil {
			return v, nil
		}
		return t.check(v)
	}
}

func unionChecker(root, s *Schema, t *yang.YangType) checker {
	var members []checker
	var collect func(*yang.YangType)
	collect = func(t *yang.YangType) {
		for _, m := range t.Type {
			if m.Kind == yang.Yunion {
				collect(m)
			} else if m.Kind == yang.Yenum || m.Kind == yang.Yidentityref { // words go before strings, as with ygot
				members = append([]checker{enumChecker(s)}, members...)
			} else {
				members = append(members, newChecker(root, s, m))
			}
		}
	}
	collect(t)
	return func(v any) (any, error) {
		for _, m := range members {
			if out, err := m(v); err == nil {
				return out, nil
			}
		}
		return nil, s.wrong(v, "of any type this leaf takes")
	}
}
