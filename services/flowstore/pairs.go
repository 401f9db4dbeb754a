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

// pair is a prefix pair, both masked.
type pair struct{ src, dst netip.Prefix }

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
const pairsPerQuery = 1500

// lastSeen is the newest end of a record of each pair.
func lastSeen(ctx context.Context, db store.DB, pairs []pair) (map[pair]time.Time, error) {
	byLength := map[[2]int][]pair{}
	for _, p := range pairs {
		key := [2]int{mapped(p.src), mapped(p.dst)}
		byLength[key] = append(byLength[key], p)
	}
	seen := map[pair]time.Time{}
	for bits, group := range byLength {
		for some := range slices.Chunk(group, pairsPerQuery) {
			if err := lastSeenOf(ctx, db, bits, some, seen); err != nil {
				return nil, fmt.Errorf("when pairs were last seen: %w", err)
			}
		}
	}
	return seen, nil
}

func lastSeenOf(ctx context.Context, db store.DB, bits [2]int, pairs []pair, seen map[pair]time.Time) error {
	tuples := make([]string, len(pairs))
	byNetwork := map[[2]netip.Addr][]pair{}
	for i, p := range pairs {
		src, err := store.Literal(p.src.Addr())
		if err != nil {
			return err
		}
		dst, err := store.Literal(p.dst.Addr())
		if err != nil {
			return err
		}
		tuples[i] = "(" + src + "," + dst + ")"
		key := [2]netip.Addr{p.src.Addr(), p.dst.Addr()}
		byNetwork[key] = append(byNetwork[key], p)
	}
	rows, err := db.Query(ctx, `SELECT IPv6CIDRToRange(src, ?).1 AS s, IPv6CIDRToRange(dst, ?).1 AS d, max(end)
		FROM flows WHERE (s, d) IN (`+strings.Join(tuples, ",")+`) GROUP BY s, d`, bits[0], bits[1])
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var s, d netip.Addr
		var at time.Time
		if err := rows.Scan(&s, &d, &at); err != nil {
			return err
		}
		for _, p := range byNetwork[[2]netip.Addr{s.Unmap(), d.Unmap()}] {
			seen[p] = at
		}
	}
	return rows.Err()
}

const topSQL = `
WITH
    ? AS v4, ? AS v6,
    src BETWEEN toIPv6('::ffff:0.0.0.0') AND toIPv6('::ffff:255.255.255.255') AS is_v4,
    toUInt8(if(is_v4, 96 + v4, v6)) AS bits
SELECT
    is_v4 AS four,
    IPv6CIDRToRange(src, bits).1 AS s, IPv6CIDRToRange(dst, bits).1 AS d,
    sum(bytes * greatest(sampling_rate, 1)) AS b, sum(packets * greatest(sampling_rate, 1)) AS p, count() AS n
FROM flows
WHERE start >= ? AND start < ?
GROUP BY four, s, d
ORDER BY b DESC, s, d
LIMIT ?
SETTINGS max_bytes_before_external_group_by = 1000000000`

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
