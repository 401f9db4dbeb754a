package store

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func TestStatementsWithArguments(t *testing.T) {
	for _, c := range []struct {
		name string
		sql  string
		args []any
		want string
	}{
		{"none", "SELECT 1", nil, "SELECT 1"},
		{"numbers", "a = ? AND b = ? AND c = ?", []any{1, int64(-2), uint64(1 << 63)}, "a = 1 AND b = -2 AND c = 9223372036854775808"},
		{"text that tries to break out", "a = ?", []any{`' OR 1=1 --\`}, `a = '\' OR 1=1 --\\'`},
		{"a question mark inside an argument", "a = ? AND b = ?", []any{"?", uint32(7)}, "a = '?' AND b = 7"},
		{"a time", "t < ?", []any{time.UnixMilli(1500)}, "t < fromUnixTimestamp64Milli(toInt64(1500), 'UTC')"},
		{"an IPv4 address", "src = ?", []any{netip.MustParseAddr("10.0.0.1")}, "src = toIPv6('::ffff:10.0.0.1')"},
		{"an IPv6 address", "src = ?", []any{netip.MustParseAddr("2001:db8::1")}, "src = toIPv6('2001:db8::1')"},
		{"a list", "x IN ?", []any{[]string{"a", "b'"}}, `x IN ['a','b\'']`},
		{"an empty list", "x IN ?", []any{[]uint64{}}, "x IN []"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := bind(c.sql, c.args)
			if err != nil || got != c.want {
				t.Errorf("got %s, %v; want %s", got, err, c.want)
			}
		})
	}
}

func TestStatementsThatDoNotFitTheirArguments(t *testing.T) {
	for _, c := range []struct {
		name string
		sql  string
		args []any
	}{
		{"too few", "a = ? AND b = ?", []any{1}},
		{"too many", "a = ?", []any{1, 2}},
		{"of a type without literal", "a = ?", []any{struct{}{}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := bind(c.sql, c.args); err == nil {
				t.Errorf("got %s, want an error", got)
			}
		})
	}
}

// FuzzText: whatever an operator or a router sends stays one string for the
// engine's lexer.
func FuzzText(f *testing.F) {
	f.Add("it's \\ a 'test' -- ; /* */ \x00 é")
	f.Fuzz(func(t *testing.T, s string) {
		lit := quote(s)
		inner := lit[1 : len(lit)-1]
		for i := 0; i < len(inner); i++ {
			switch inner[i] {
			case '\\':
				i++
			case '\'':
				t.Fatalf("%q ends early in %s", s, lit)
			}
		}
		if n := len(inner) - len(strings.TrimRight(inner, `\\`)); n%2 != 0 {
			t.Fatalf("%q escapes its closing quote: %s", s, lit)
		}
	})
}

func TestSecretsDoNotPrint(t *testing.T) {
	cfg := Configuration{Password: "hunter2"}
	asJSON, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{fmt.Sprint(cfg), fmt.Sprintf("%+v", cfg), fmt.Sprintf("%#v", cfg), string(asJSON)} {
		if strings.Contains(out, "hunter2") {
			t.Errorf("the password is in %s", out)
		}
	}
}
