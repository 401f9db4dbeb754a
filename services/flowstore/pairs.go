package flowstore

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/store"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// pair is a prefix pair, both masked, as one exporter sees it; the zero exporter is any.
type pair struct {
	src, dst netip.Prefix
	exporter netip.Addr
}

// lengths are prefix lengths per family.
type lengths struct{ v4, v6 int }

// lengthsOf gives the IPv6 length that goes with the IPv4 one: site to site, or host to host's network.
func lengthsOf(v4 uint32) (lengths, bool) {
	switch v4 {
	case 24:
		return lengths{24, 48}, true
	case 32:
		return lengths{32, 64}, true
	}
	return lengths{}, false
}

// mapped is the prefix length inside the store, where IPv4 is mapped into IPv6.
func mapped(p netip.Prefix) int {
	if p.Addr().Is4() {
		return p.Bits() + 96
	}
	return p.Bits()
}

// pairsPerQuery keeps a statement below ClickHouse's max_query_size of 256 KB.
const pairsPerQuery = 1200

// shape is what the pairs of one query have in common.
type shape struct {
	srcBits, dstBits int
	byExporter       bool
}

// byShape are pairs by what those of one query have in common.
func byShape(pairs []pair) map[shape][]pair {
	out := map[shape][]pair{}
	for _, p := range pairs {
		key := shape{mapped(p.src), mapped(p.dst), p.exporter.IsValid()}
		out[key] = append(out[key], p)
	}
	return out
}

// namedPairs are pairs by exporter and networks, and these as the engine compares them.
func namedPairs(pairs []pair) (map[[3]netip.Addr]pair, []string, error) {
	named := map[[3]netip.Addr]pair{}
	tuples := make([]string, len(pairs))
	for i, p := range pairs {
		key := [3]netip.Addr{p.exporter, p.src.Addr(), p.dst.Addr()}
		named[key] = p
		var err error
		if tuples[i], err = tuple(key[:]); err != nil {
			return nil, nil, err
		}
	}
	return named, tuples, nil
}

// tuple writes addresses as the engine compares them.
func tuple(addrs []netip.Addr) (string, error) {
	parts := make([]string, len(addrs))
	for i, a := range addrs {
		text, err := store.Literal(a)
		if err != nil {
			return "", err
		}
		parts[i] = text
	}
	return "(" + strings.Join(parts, ",") + ")", nil
}

// lastSeen is the newest end of a record of each pair that ended since then or later. The bound lets the store skip
// what is older than any reader asks about: flows are kept for months, pairs age in weeks.
func lastSeen(ctx context.Context, db store.DB, pairs []pair, since time.Time) (map[pair]time.Time, error) {
	seen := map[pair]time.Time{}
	for key, group := range byShape(pairs) {
		for some := range slices.Chunk(group, pairsPerQuery) {
			if err := lastSeenOf(ctx, db, key, some, since, seen); err != nil {
				return nil, fmt.Errorf("when pairs were last seen: %w", err)
			}
		}
	}
	return seen, nil
}

func lastSeenOf(ctx context.Context, db store.DB, of shape, pairs []pair, since time.Time, seen map[pair]time.Time) error {
	tuples := make([]string, len(pairs))
	byNetwork := map[[3]netip.Addr][]pair{}
	for i, p := range pairs {
		exporter := p.exporter
		if !of.byExporter {
			exporter = netip.IPv6Unspecified() // what the query gives for any
		}
		key := [3]netip.Addr{exporter, p.src.Addr(), p.dst.Addr()}
		byNetwork[key] = append(byNetwork[key], p)
		var err error
		if tuples[i], err = tuple(key[:]); err != nil {
			return err
		}
	}
	reporter := "exporter"
	if !of.byExporter {
		reporter = "toIPv6('::')"
	}
	rows, err := db.Query(ctx, `SELECT `+reporter+` AS e, IPv6CIDRToRange(src, ?).1 AS s, IPv6CIDRToRange(dst, ?).1 AS d, max(end)
		FROM flows WHERE end >= ? AND (e, s, d) IN (`+strings.Join(tuples, ",")+`) GROUP BY e, s, d`, of.srcBits, of.dstBits, since)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var e, s, d netip.Addr
		var at time.Time
		if err := rows.Scan(&e, &s, &d, &at); err != nil {
			return err
		}
		for _, p := range byNetwork[[3]netip.Addr{e.Unmap(), s.Unmap(), d.Unmap()}] {
			seen[p] = at
		}
	}
	return rows.Err()
}

// IPv4 pairs are grouped by one number, which is a quarter as long as two addresses: most flows are IPv4. Those of IPv6
// are found by comparisons that the table's key answers: where there are none, and five minutes have many granules of
// rows, few are read.
const topSQL = `
WITH
    ? AS v4, ? AS v6, ? AS window_start, ? AS window_end, ? AS most,
    toUInt128(281470681743360) AS mapped, toUInt8(32 - v4) AS host_bits,
    toUInt128(src) BETWEEN mapped AND mapped + 4294967295 AS is_v4
SELECT four, s, d, b, p, n FROM
(
    SELECT
        toUInt8(1) AS four, IPv4ToIPv6(toIPv4(toUInt32(bitShiftLeft(bitShiftRight(networks, 32), host_bits)))) AS s,
        IPv4ToIPv6(toIPv4(toUInt32(bitShiftLeft(bitAnd(networks, 4294967295), host_bits)))) AS d, b, p, n
    FROM
    (
        SELECT
            bitOr(
                bitShiftLeft(toUInt64(bitShiftRight(toUInt32(toUInt128(src)), host_bits)), 32),
                bitShiftRight(toUInt32(toUInt128(dst)), host_bits)) AS networks,
            sum(bytes * greatest(sampling_rate, 1)) AS b, sum(packets * greatest(sampling_rate, 1)) AS p, count() AS n
        FROM flows WHERE ` + startsInWindow + ` AND is_v4
        GROUP BY networks
        ORDER BY b DESC, networks LIMIT most
    )
    UNION ALL
    SELECT
        toUInt8(0) AS four, IPv6CIDRToRange(src, toUInt8(v6)).1 AS s, IPv6CIDRToRange(dst, toUInt8(v6)).1 AS d,
        sum(bytes * greatest(sampling_rate, 1)) AS b, sum(packets * greatest(sampling_rate, 1)) AS p, count() AS n
    FROM flows WHERE ` + startsInWindow + ` AND (src < toIPv6('::ffff:0.0.0.0') OR src > toIPv6('::ffff:255.255.255.255'))
    GROUP BY s, d
    ORDER BY b DESC, s, d LIMIT most
)
ORDER BY b DESC, s, d
LIMIT most`

// top ranks prefix pairs by the bytes of records that started in [from, to), sampling applied.
func top(ctx context.Context, db store.DB, from, to time.Time, l lengths, limit int) ([]*flowv1.PairBytes, error) {
	rows, err := db.Query(ctx, topSQL, l.v4, l.v6, from, to, limit)
	if err != nil {
		return nil, fmt.Errorf("rank prefix pairs: %w", err)
	}
	defer rows.Close()
	var ranked []*flowv1.PairBytes
	for rows.Next() {
		var four uint8
		var s, d netip.Addr
		r := &flowv1.PairBytes{}
		if err := rows.Scan(&four, &s, &d, &r.Bytes, &r.Packets, &r.Flows); err != nil {
			return nil, fmt.Errorf("rank prefix pairs: %w", err)
		}
		bits := l.v6
		if four == 1 {
			bits = l.v4
		}
		r.Pair = &flowv1.PrefixPair{
			Src: netip.PrefixFrom(s.Unmap(), bits).String(), Dst: netip.PrefixFrom(d.Unmap(), bits).String(),
		}
		ranked = append(ranked, r)
	}
	return ranked, rows.Err()
}
