package store

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// bind replaces each ? by its argument's literal. SQL given to this package
// never holds a ? of its own.
func bind(sql string, args []any) (string, error) {
	if n := strings.Count(sql, "?"); n != len(args) {
		return "", fmt.Errorf("statement has %d places for arguments and was given %d", n, len(args))
	}
	var b strings.Builder
	for _, a := range args {
		before, after, _ := strings.Cut(sql, "?")
		lit, err := Literal(a)
		if err != nil {
			return "", err
		}
		b.WriteString(before)
		b.WriteString(lit)
		sql = after
	}
	b.WriteString(sql)
	return b.String(), nil
}

// Literal writes a Go value as SQL. Times become DateTime64(3, 'UTC'),
// addresses IPv6 (IPv4 mapped), slices arrays.
func Literal(a any) (string, error) {
	switch v := a.(type) {
	case string:
		return quote(v), nil
	case int:
		return strconv.Itoa(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case uint32:
		return strconv.FormatUint(uint64(v), 10), nil
	case uint64:
		return strconv.FormatUint(v, 10), nil
	case time.Time:
		return fmt.Sprintf("fromUnixTimestamp64Milli(toInt64(%d), 'UTC')", v.UnixMilli()), nil
	case netip.Addr:
		return fmt.Sprintf("toIPv6('%s')", netip.AddrFrom16(v.As16())), nil
	case []string:
		return list(v)
	case []netip.Addr:
		return list(v)
	case []uint64:
		return list(v)
	}
	return "", fmt.Errorf("no SQL literal for %T", a)
}

func list[T any](values []T) (string, error) {
	lits := make([]string, len(values))
	for i, v := range values {
		lit, err := Literal(v)
		if err != nil {
			return "", err
		}
		lits[i] = lit
	}
	return "[" + strings.Join(lits, ",") + "]", nil
}

var escaper = strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\x00", `\0`)

func quote(s string) string { return "'" + escaper.Replace(s) + "'" }
