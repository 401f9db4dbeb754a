package months

import (
	"maps"
	"math/big"
	"net/netip"
	"time"

	"github.com/millrace/millrace/internal/flowrecord"
)

// Pair is two prefixes as one exporter sees them.
type Pair struct {
	Exporter netip.Addr
	Src, Dst netip.Prefix
}

// PairOf cuts addresses to /24 and /48, or to /32 and /64.
func PairOf(exporter, src, dst netip.Addr, v4 int) Pair {
	cut := func(a netip.Addr) netip.Prefix {
		bits := v4
		if !a.Is4() {
			bits = map[int]int{24: 48, 32: 64}[v4]
		}
		p, _ := a.Prefix(bits)
		return p
	}
	return Pair{exporter, cut(src), cut(dst)}
}

// Day is what the pairs known before a day catch of it.
type Day struct {
	Date time.Time
	// Known are the pairs before the day, Added those that are added after it, AgedOut those that are forgotten.
	Known, Added, AgedOut int
	// Bytes were sent in bursts, Caught of them by known pairs. Redirected is all that known pairs sent, False what
	// they sent in flows without a burst on the day.
	Bytes, Caught, Redirected, False uint64
}

const day = 24 * time.Hour

// Oracle walks over all records and bursts, day after day, with maps of pairs: slow and plain, to be compared with.
func (t Traffic) Oracle(v4 int, age time.Duration) []Day {
	var out []Day
	t.walk(v4, age, func(d Day, _ map[Pair]time.Time) { out = append(out, d) })
	return out
}

// InForce are the pairs that are known after each day, and when each was last seen.
func (t Traffic) InForce(v4 int, age time.Duration) []map[Pair]time.Time {
	var out []map[Pair]time.Time
	t.walk(v4, age, func(_ Day, known map[Pair]time.Time) { out = append(out, maps.Clone(known)) })
	return out
}

func (t Traffic) walk(v4 int, age time.Duration, after func(Day, map[Pair]time.Time)) {
	records, bursts := map[time.Time][]flowrecord.Record{}, map[time.Time][]Burst{}
	for _, r := range t.Records {
		for at := r.Start.Truncate(day); !at.After(r.End); at = at.Add(day) {
			records[at] = append(records[at], r)
		}
	}
	for _, b := range t.Bursts {
		at := b.Start.Truncate(day)
		bursts[at] = append(bursts[at], b)
	}
	seen := map[Pair]time.Time{}
	for at := t.Records[0].Start.Truncate(day); at.Before(t.End); at = at.Add(day) {
		after(nightlyRun(at, records[at], bursts[at], seen, v4, age), seen)
	}
}

// nightlyRun judges one day and brings up to date when each known pair was seen.
func nightlyRun(at time.Time, records []flowrecord.Record, bursts []Burst, seen map[Pair]time.Time, v4 int, age time.Duration) Day {
	d, next := Day{Date: at, Known: len(seen)}, at.Add(day)
	loud := map[flow]bool{}
	for _, b := range bursts {
		loud[flowOf(b.Exporter, b.Src, b.Dst, b.SrcPort)] = true
	}
	for _, r := range records {
		pair := PairOf(r.Exporter, r.Src, r.Dst, v4)
		last, known := seen[pair]
		if !known {
			continue
		}
		sent := sentUntil(r, next) - sentUntil(r, at)
		d.Redirected += sent
		if !loud[flowOf(r.Exporter, r.Src, r.Dst, r.SrcPort)] {
			d.False += sent
		}
		if r.End.After(at) || !r.Start.Before(at) {
			seen[pair] = later(last, earlier(r.End, next))
		}
	}
	fresh := map[Pair]time.Time{}
	for _, b := range bursts {
		pair := PairOf(b.Exporter, b.Src, b.Dst, v4)
		d.Bytes += b.Bytes
		if _, known := seen[pair]; known {
			d.Caught += b.Bytes
		}
		fresh[pair] = later(fresh[pair], b.RecordEnd)
	}
	for pair, last := range fresh {
		if _, known := seen[pair]; !known {
			d.Added++
		}
		seen[pair] = later(seen[pair], last)
	}
	for pair, last := range seen {
		if last.Before(next.Add(-age)) {
			delete(seen, pair)
			d.AgedOut++
		}
	}
	return d
}

// flow is what is different among the flows of the months.
type flow struct {
	exporter, src, dst netip.Addr
	port               uint16
}

func flowOf(exporter, src, dst netip.Addr, port uint16) flow { return flow{exporter, src, dst, port} }

// sentUntil is what of a record was sent before t; a record without duration was sent at its start.
func sentUntil(r flowrecord.Record, t time.Time) uint64 {
	switch {
	case !t.After(r.Start):
		return 0
	case !t.Before(r.End):
		return r.Bytes
	}
	n := new(big.Int).Mul(new(big.Int).SetUint64(r.Bytes), big.NewInt(t.Sub(r.Start).Milliseconds()))
	return n.Div(n, big.NewInt(r.End.Sub(r.Start).Milliseconds())).Uint64()
}

// Effectiveness is the share of the bytes sent in bursts that known pairs caught.
func Effectiveness(days []Day) float64 {
	var all, caught float64
	for _, d := range days {
		all, caught = all+float64(d.Bytes), caught+float64(d.Caught)
	}
	return caught / all
}
