package model

import (
	"regexp"
	"strings"
)

// matchers of a type's patterns, compiled when the first value asks.
func (t *Type) matchers() []func(string) bool {
	t.compile.Do(func() {
		for _, p := range t.Patterns {
			t.match = append(t.match, matcher(p))
		}
	})
	return t.match
}

func matcher(pattern string) func(string) bool {
	if m := shortcuts[pattern]; m != nil {
		return m
	}
	return regexp.MustCompile(pattern).MatchString
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
