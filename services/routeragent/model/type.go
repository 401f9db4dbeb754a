package model

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync"
)

// TypeKind is a built-in type of YANG (RFC 7950 section 4.2.4); integers that are written alike share one.
type TypeKind uint8

// Kinds of types.
const (
	Boolean TypeKind = iota
	String
	// Integer is of 8, 16 or 32 bits: a JSON number.
	Integer
	// Integer64 and Decimal64 are JSON strings (RFC 7951 section 6.1).
	Integer64
	Decimal64
	Enumeration
	Identityref
	Union
)

// Type of a leaf's value.
type Type struct {
	// Name in the model: of a typedef (dscp), of a built-in type (uint8), or of an identityref's base.
	Name string
	Kind TypeKind
	// Range of an integer.
	Range Ranges
	// Length of a string, in characters.
	Length Ranges
	// Patterns, all of which a string matches.
	Patterns []string
	// Words of an enumeration, or of an identityref with the modules
	// that define them; sorted by the name without module.
	Words []string
	// Members of a union, in the order in which they are tried.
	Members []*Type

	compile sync.Once
	match   []func(string) bool
}

// Range of numbers, both ends included.
type Range struct {
	Min int64
	Max uint64
}

// Ranges are alternatives.
type Ranges []Range

// String writes ranges as YANG does, such as 1..5|7.
func (r Ranges) String() string {
	parts := make([]string, len(r))
	for i, x := range r {
		parts[i] = strconv.FormatInt(x.Min, 10)
		if x.Min < 0 || uint64(x.Min) != x.Max {
			parts[i] += ".." + strconv.FormatUint(x.Max, 10)
		}
	}
	return strings.Join(parts, "|")
}

// hold is true if a number (its sign and its magnitude) lies in one of the ranges.
func (r Ranges) hold(negative bool, magnitude uint64) bool {
	for _, x := range r {
		switch {
		case negative && magnitude > 0:
			if x.Min < 0 && magnitude <= -uint64(x.Min) {
				return true
			}
		case magnitude <= x.Max && (x.Min <= 0 || magnitude >= uint64(x.Min)):
			return true
		}
	}
	return false
}

// Is64 is true for numbers that RFC 7951 section 6.1 writes as strings.
func (t *Type) Is64() bool { return t != nil && (t.Kind == Integer64 || t.Kind == Decimal64) }

// FromText is the value that the text of a key or of a default stands for.
func (t *Type) FromText(text string) any {
	switch t.Kind {
	case Boolean:
		return text == "true"
	case Integer:
		return json.Number(text)
	}
	return text
}
