package junosconf

import (
	"slices"
	"strconv"
	"strings"
)

// spellings are the values that can be written in more than one way; Junos
// shows them in one, which need not be the one it was sent.
var spellings = map[string]func(string) string{"as:quantity": quantity, "as:dscp": dscp, "as:protocol": protocol}

// Quantity writes a number as Junos shows it: 1000000000 is 1g.
func Quantity(n uint64) string {
	for _, unit := range []struct {
		size uint64
		name string
	}{{1e9, "g"}, {1e6, "m"}, {1e3, "k"}} {
		if n >= unit.size && n%unit.size == 0 {
			return strconv.FormatUint(n/unit.size, 10) + unit.name
		}
	}
	return strconv.FormatUint(n, 10)
}

// ParseQuantity is its inverse.
func ParseQuantity(s string) (uint64, bool) {
	factor := uint64(1)
	for name, size := range map[string]uint64{"g": 1e9, "m": 1e6, "k": 1e3} {
		if rest, found := strings.CutSuffix(s, name); found {
			s, factor = rest, size
			break
		}
	}
	n, err := strconv.ParseUint(s, 10, 64)
	return n * factor, err == nil && n <= ^uint64(0)/factor
}

func quantity(s string) string {
	if n, ok := ParseQuantity(s); ok {
		return Quantity(n)
	}
	return s
}

// codePoints are the names Junos has by default (class-of-service code-point-aliases dscp).
var codePoints = map[string]int{
	"be": 0, "cs1": 8, "cs2": 16, "cs3": 24, "cs4": 32, "cs5": 40, "cs6": 48, "nc1": 48, "cs7": 56, "nc2": 56, "ef": 46,
	"af11": 10, "af12": 12, "af13": 14, "af21": 18, "af22": 20, "af23": 22,
	"af31": 26, "af32": 28, "af33": 30, "af41": 34, "af42": 36, "af43": 38,
}

func dscp(s string) string {
	if n, ok := codePoints[s]; ok {
		return strconv.Itoa(n)
	}
	return s
}

var protocols = []struct{ number, name string }{
	{"1", "icmp"}, {"6", "tcp"}, {"17", "udp"}, {"47", "gre"}, {"50", "esp"}, {"58", "icmp6"}, {"89", "ospf"}, {"132", "sctp"},
}

func protocol(s string) string {
	for _, p := range protocols {
		if p.number == s {
			return p.name
		}
	}
	return s
}

// bare reports whether a word needs no quotes in configuration text.
func bare(word string) bool {
	return word != "" && !strings.ContainsFunc(word, func(r rune) bool {
		return r <= ' ' || r > '~' || slices.Contains([]rune(`"{}[];#\`), r)
	}) && !strings.HasPrefix(word, "/*")
}

func quoted(word string) string {
	if bare(word) {
		return word
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(word) + `"`
}
