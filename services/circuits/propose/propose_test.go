package propose

import (
	"math"
	"net/netip"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

func prefixes(src, dst string) Prefixes {
	return Prefixes{netip.MustParsePrefix(src), netip.MustParsePrefix(dst)}
}

// burst of a minute, in November 2026.
func burst(day, hour, minute int, bytes uint64) Burst {
	return Burst{Start: time.Date(2026, 11, day, hour, minute, 0, 0, time.UTC), Interval: time.Minute, Bytes: bytes}
}

const gigabyte = 1_000_000_000

func TestWhatWouldHaveBeenEnough(t *testing.T) {
	for name, tc := range map[string]struct {
		seen       []Burst
		rate       int64
		start, end string
		days       int
	}{
		"one evening":                   {[]Burst{burst(23, 22, 1, 3*gigabyte), burst(23, 22, 2, 6*gigabyte)}, 800_000_000, "2026-11-24T22:00:00Z", "2026-11-24T22:15:00Z", 1},
		"two flows at once":             {[]Burst{burst(23, 22, 1, 3*gigabyte), burst(23, 22, 1, 3*gigabyte), burst(22, 23, 59, gigabyte)}, 800_000_000, "2026-11-24T22:00:00Z", "2026-11-25T00:00:00Z", 2},
		"over midnight":                 {[]Burst{burst(22, 23, 50, gigabyte), burst(23, 0, 20, gigabyte)}, 134_000_000, "2026-11-24T23:45:00Z", "2026-11-25T00:30:00Z", 2},
		"in the morning, which is past": {[]Burst{burst(23, 6, 0, 7_500_000)}, 1_000_000, "2026-11-25T06:00:00Z", "2026-11-25T06:15:00Z", 1},
		"one bit more than 1 Mbit/s":    {[]Burst{burst(23, 6, 0, 7_500_001)}, 2_000_000, "2026-11-25T06:00:00Z", "2026-11-25T06:15:00Z", 1},
		"now":                           {[]Burst{burst(23, 12, 0, gigabyte)}, 134_000_000, "2026-11-24T12:00:00Z", "2026-11-24T12:15:00Z", 1},
		"of two rests the longer one":   {[]Burst{burst(23, 1, 0, gigabyte), burst(23, 9, 0, gigabyte), burst(23, 23, 0, gigabyte)}, 134_000_000, "2026-11-24T23:00:00Z", "2026-11-25T09:15:00Z", 1},
		"without end":                   {[]Burst{{Start: noon, Interval: 48 * time.Hour, Bytes: math.MaxUint64}}, 854_015_930_000_000, "2026-11-25T00:00:00Z", "2026-11-26T00:00:00Z", 1},
		"in no time":                    {[]Burst{{Start: noon, Bytes: gigabyte}}, 1_000_000, "2026-11-24T12:00:00Z", "2026-11-24T12:15:00Z", 1},
	} {
		p := Pair{ID: "p", Prefixes: prefixes("10.0.0.0/24", "10.0.1.0/24"), Evidence: tc.seen}
		got := Of([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/16")}, []Pair{p}, nil, noon)
		if len(got) != 1 {
			t.Errorf("%s: %v", name, got)
			continue
		}
		g := got[0]
		if g.Rate != tc.rate || g.Start.Format(time.RFC3339) != tc.start || g.End.Format(time.RFC3339) != tc.end || g.Days != tc.days {
			t.Errorf("%s: %d bit/s from %s to %s, %d days; want %d from %s to %s, %d", name, g.Rate, g.Start, g.End, g.Days, tc.rate, tc.start, tc.end, tc.days)
		}
	}
}

func TestOfWhom(t *testing.T) {
	seen := []Burst{burst(23, 22, 0, gigabyte)}
	for name, tc := range map[string]struct {
		pair    Prefixes
		booked  []Prefixes
		without bool // evidence
		want    bool
	}{
		"it sends":                           {pair: prefixes("10.0.7.0/24", "192.0.2.0/24"), want: true},
		"it receives":                        {pair: prefixes("192.0.2.0/24", "10.0.7.0/24"), want: true},
		"it is another's":                    {pair: prefixes("192.0.2.0/24", "198.51.100.0/24")},
		"it is wider than the project":       {pair: prefixes("10.0.0.0/8", "192.0.2.0/24")},
		"another family":                     {pair: prefixes("2001:db8::/48", "2001:db8:1::/48")},
		"no evidence":                        {pair: prefixes("10.0.7.0/24", "192.0.2.0/24"), without: true},
		"a circuit is for it":                {pair: prefixes("10.0.7.0/24", "192.0.2.0/24"), booked: []Prefixes{prefixes("10.0.0.0/16", "192.0.2.0/24")}},
		"a circuit is for the way back":      {pair: prefixes("10.0.7.0/24", "192.0.2.0/24"), booked: []Prefixes{prefixes("192.0.2.0/24", "10.0.7.0/24")}, want: true},
		"a circuit is for some of its hosts": {pair: prefixes("10.0.7.0/24", "192.0.2.0/24"), booked: []Prefixes{prefixes("10.0.7.0/25", "192.0.2.0/24")}, want: true},
	} {
		p := Pair{ID: "p", Prefixes: tc.pair, Evidence: seen}
		if tc.without {
			p.Evidence = nil
		}
		got := Of([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/16")}, []Pair{p}, tc.booked, noon)
		if (len(got) == 1) != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
