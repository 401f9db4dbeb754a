// Package units reads and prints the quantities people write in scenario and
// policy files: bit rates and byte sizes.
//
// Rates are decimal ("100Mbit/s" is 100,000,000 bit/s) as everywhere in
// networking; sizes are decimal with kB, MB, GB and binary with KiB, MiB, GiB.
//
// In: text. Out: numbers with a unit in their type. Next: packages that parse a file
// with such a field; both types are encoding.TextUnmarshaler.
//
// Mutation testing: 20 of 22 killed (docs/reference/mutants.md).
package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Rate is a bit rate in bit/s.
type Rate uint64

// Size is an amount of data in bytes.
type Size uint64

type unit struct {
	suffix string
	factor float64
}

// Longest suffix first: "Mbit/s" must win over "bit/s", "MiB" over "B".
var (
	rateUnits = []unit{{"Tbit/s", 1e12}, {"Gbit/s", 1e9}, {"Mbit/s", 1e6}, {"kbit/s", 1e3}, {"bit/s", 1}}
	sizeUnits = []unit{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1}}
)

// ParseRate reads "100Mbit/s".
func ParseRate(text string) (Rate, error) {
	n, err := parse(text, rateUnits, "a rate, for example 100Mbit/s")
	return Rate(n), err
}

// ParseSize reads "1.25MB".
func ParseSize(text string) (Size, error) {
	n, err := parse(text, sizeUnits, "a size, for example 1.25MB")
	return Size(n), err
}

func parse(text string, known []unit, want string) (uint64, error) {
	for _, u := range known {
		digits, found := strings.CutSuffix(strings.TrimSpace(text), u.suffix)
		if !found {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		// 2^63 as the limit keeps every later product of a few such numbers exact enough to check.
		if err != nil || math.IsNaN(n) || n < 0 || n*u.factor >= math.MaxInt64 {
			break
		}
		return uint64(math.Round(n * u.factor)), nil
	}
	return 0, fmt.Errorf("%q is not %s (units: %s)", text, want, suffixes(known))
}

func suffixes(known []unit) string {
	names := make([]string, len(known))
	for i, u := range known {
		names[len(known)-1-i] = u.suffix
	}
	return strings.Join(names, ", ")
}

// String prints with the largest decimal unit that leaves a number of at least one.
func (r Rate) String() string { return format(uint64(r), rateUnits) }

// String prints with the largest decimal unit that leaves a number of at least one.
func (s Size) String() string { return format(uint64(s), sizeUnits[3:]) }

func format(n uint64, known []unit) string {
	for _, u := range known {
		if float64(n) >= u.factor {
			return strconv.FormatFloat(float64(n)/u.factor, 'f', -1, 64) + u.suffix
		}
	}
	return "0" + known[len(known)-1].suffix
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *Rate) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRate(string(text))
	return err
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Size) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSize(string(text))
	return err
}

// MarshalText implements encoding.TextMarshaler.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// MarshalText implements encoding.TextMarshaler.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
