package detect

import (
	"math"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	wr      = netip.MustParseAddr("192.0.2.1")
	er      = netip.MustParseAddr("192.0.2.2")
	t0      = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	compare = cmp.Options{
		cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
		cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b }),
		cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
	}
)

// sum is a flow "src:port dst:port" that sent so much in the minute at start.
func sum(exporter netip.Addr, src, dst string, start time.Time, bytes uint64) Sum {
	return Sum{
		Exporter: exporter,
		Flow:     Flow{Src: netip.MustParseAddrPort(src), Dst: netip.MustParseAddrPort(dst), Protocol: 6, InIf: 3},
		Start:    start, Bytes: bytes, Packets: bytes / 1500, SamplingRate: 1, LastRecordEnd: start.Add(time.Minute),
	}
}

func names(pairs []Pair) (out []string) {
	for _, p := range pairs {
		out = append(out, p.Key.Exporter.String()+" "+p.Key.Prefixes.Src.String()+" "+p.Key.Prefixes.Dst.String())
	}
	return out
}

// The sentences are those of paper 002, section II, "Hybrid Network Traffic
// Engineering System".

func TestMoreThanHBytesWithinAFixedTimeInterval(t *testing.T) {
	// "if a NetFlow report for a flow showed that more than H bytes (set to 1 GB)
	// were sent within a fixed time interval (set to 1 min), we classified the flow
	// as an α flow."
	const pair = "192.0.2.1 10.1.0.0/24 10.2.0.0/24"
	for name, tc := range map[string]struct {
		sums []Sum
		want []string
	}{
		"one byte more than H is alpha": {
			[]Sum{sum(wr, "10.1.0.5:40000", "10.2.0.9:5001", t0, 1e9+1)}, []string{pair}},
		"exactly H is not more than H": {
			[]Sum{sum(wr, "10.1.0.5:40000", "10.2.0.9:5001", t0, 1e9)}, nil},
		"twice H over two intervals, but never more than H in one, is not alpha": {
			[]Sum{sum(wr, "10.1.0.5:40000", "10.2.0.9:5001", t0, 1e9), sum(wr, "10.1.0.5:40000", "10.2.0.9:5001", t0.Add(time.Minute), 1e9)}, nil},
		"two flows of one pair are not added up: the rule is about a flow": {
			[]Sum{sum(wr, "10.1.0.5:40000", "10.2.0.9:5001", t0, 9e8), sum(wr, "10.1.0.5:40001", "10.2.0.9:5001", t0, 9e8)}, nil},
		"the way back is another pair": {
			[]Sum{sum(wr, "10.2.0.9:5001", "10.1.0.5:40000", t0, 2e9)}, []string{"192.0.2.1 10.2.0.0/24 10.1.0.0/24"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Run(DefaultRule(), nil, Input{Sums: tc.sums}, t0.Add(time.Hour))
			if diff := cmp.Diff(names(got.Added), tc.want); diff != "" {
				t.Errorf("added (-got +want):\n%s", diff)
			}
		})
	}
}

func TestSourceDestinationPrefixesAreTheIdentity(t *testing.T) {
	// "HNTES can determine source-destination IP address prefixes by analyzing
	// NetFlow reports of completed α flows"; "/24 (/32) based prefix IDs".
	for name, tc := range map[string]struct {
		v4, v6   int
		src, dst string
		want     string
	}{
		"/24":                                 {24, 48, "10.1.0.5:1", "10.2.0.9:2", "192.0.2.1 10.1.0.0/24 10.2.0.0/24"},
		"/32":                                 {32, 48, "10.1.0.5:1", "10.2.0.9:2", "192.0.2.1 10.1.0.5/32 10.2.0.9/32"},
		"/48":                                 {24, 48, "[2001:db8:1:2::5]:1", "[2001:db8:3:4::5]:2", "192.0.2.1 2001:db8:1::/48 2001:db8:3::/48"},
		"/64":                                 {24, 64, "[2001:db8:1:2::5]:1", "[2001:db8:3:4::5]:2", "192.0.2.1 2001:db8:1:2::/64 2001:db8:3:4::/64"},
		"IPv4 in IPv6 notation is still IPv4": {24, 48, "[::ffff:10.1.0.5]:1", "10.2.0.9:2", "192.0.2.1 10.1.0.0/24 10.2.0.0/24"},
	} {
		t.Run(name, func(t *testing.T) {
			rule := DefaultRule()
			rule.IPv4Length, rule.IPv6Length = tc.v4, tc.v6
			got := Run(rule, nil, Input{Sums: []Sum{sum(wr, tc.src, tc.dst, t0, 2e9)}}, t0)
			if diff := cmp.Diff(names(got.Added), []string{tc.want}); diff != "" {
				t.Errorf("added (-got +want):\n%s", diff)
			}
		})
	}
}

func TestCarriedOutForAllIngressRouters(t *testing.T) {
	// "This NetFlow data analysis is envisioned to be carried out offline on say a
	// nightly basis for all ingress routers to update the firewall filters."
	got := Run(DefaultRule(), nil, Input{Sums: []Sum{
		sum(er, "10.1.0.5:1", "10.2.0.9:2", t0, 2e9), sum(wr, "10.1.0.5:1", "10.2.0.9:2", t0, 2e9),
	}}, t0)
	want := []string{"192.0.2.1 10.1.0.0/24 10.2.0.0/24", "192.0.2.2 10.1.0.0/24 10.2.0.0/24"}
	if diff := cmp.Diff(names(got.Added), want); diff != "" {
		t.Errorf("added (-got +want):\n%s", diff)
	}
}

func TestEntriesWithoutFlowsWithinTheAgingIntervalAreRemoved(t *testing.T) {
	// "If no flows are observed for a particular source-destination address prefix
	// within an aging interval (set to 30 days), then the firewall filter entry is
	// removed."
	const day = 24 * time.Hour
	first := Run(DefaultRule(), nil, Input{Sums: []Sum{sum(wr, "10.1.0.5:1", "10.2.0.9:2", t0, 2e9)}}, t0)
	key := first.Pairs[0].Key
	elsewhere := Key{Exporter: er, Prefixes: key.Prefixes}
	end := t0.Add(time.Minute)
	for name, tc := range map[string]struct {
		now      time.Time
		lastSeen map[Key]time.Time
		removed  bool
	}{
		"29 days of silence":                                    {now: end.Add(29 * day)},
		"exactly 30 days are within the interval":               {now: end.Add(30 * day)},
		"more than 30 days":                                     {now: end.Add(30*day + 1), removed: true},
		"a flow that was not alpha counts as well":              {now: end.Add(40 * day), lastSeen: map[Key]time.Time{key: end.Add(20 * day)}},
		"a flow of other prefixes does not":                     {now: end.Add(40 * day), lastSeen: map[Key]time.Time{{Exporter: key.Exporter}: end.Add(20 * day)}, removed: true},
		"what another exporter sees of them does not":           {now: end.Add(40 * day), lastSeen: map[Key]time.Time{elsewhere: end.Add(20 * day)}, removed: true},
		"a flow seen long ago does not":                         {now: end.Add(40 * day), lastSeen: map[Key]time.Time{key: end.Add(5 * day)}, removed: true},
		"a last flow in the future (a clock that jumped) keeps": {now: end, lastSeen: map[Key]time.Time{key: end.Add(day)}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Run(DefaultRule(), first.Pairs, Input{LastSeen: tc.lastSeen}, tc.now)
			if removed := len(got.AgedOut) == 1 && len(got.Pairs) == 0; removed != tc.removed {
				t.Errorf("removed is %v, want %v", removed, tc.removed)
			}
		})
	}
}

func TestRepeatedAlphaFlowsRefreshThePair(t *testing.T) {
	// "α flows between pairs of these computers occur repeatedly".
	one := sum(wr, "10.1.0.5:1", "10.2.0.9:2", t0, 2e9)
	two := sum(wr, "10.1.0.6:7", "10.2.0.9:2", t0.Add(24*time.Hour), 3e9)
	first := Run(DefaultRule(), nil, Input{Sums: []Sum{one}}, t0)
	second := Run(DefaultRule(), first.Pairs, Input{Sums: []Sum{two}}, t0.Add(25*time.Hour))
	if len(second.Added) != 0 || len(second.Refreshed) != 1 || len(second.Pairs) != 1 {
		t.Fatalf("%d added, %d refreshed, %d in all; want 0, 1, 1", len(second.Added), len(second.Refreshed), len(second.Pairs))
	}
	p := second.Pairs[0]
	if !p.FirstSeen.Equal(t0) || !p.LastAlpha.Equal(two.Start) || !p.LastSeen.Equal(two.LastRecordEnd) {
		t.Errorf("first %v, last alpha %v, last seen %v", p.FirstSeen, p.LastAlpha, p.LastSeen)
	}
	if len(p.Evidence) != 2 || p.Evidence[0].Bytes != 3e9 {
		t.Errorf("evidence %v, want both flows, the newer first", p.Evidence)
	}
}

func TestARefusedExporterChangesNothing(t *testing.T) {
	old := Run(DefaultRule(), nil, Input{Sums: []Sum{
		sum(wr, "10.1.0.5:1", "10.2.0.9:2", t0, 2e9), sum(er, "10.1.0.5:1", "10.2.0.9:2", t0, 2e9),
	}}, t0)
	year := t0.Add(365 * 24 * time.Hour)
	got := Run(DefaultRule(), old.Pairs, Input{
		Sums: []Sum{
			sum(wr, "10.1.0.5:1", "10.2.0.9:2", year, 5e9), sum(wr, "10.7.0.5:1", "10.2.0.9:2", year, 5e9),
		},
		Frozen: map[netip.Addr]bool{wr: true},
	}, year)
	if diff := cmp.Diff(got.Pairs, old.Pairs[:1], compare); diff != "" || len(got.Added)+len(got.Refreshed) != 0 {
		t.Errorf("the frozen exporter's pairs changed (-got +want):\n%s", diff)
	}
	if diff := cmp.Diff(names(got.AgedOut), names(old.Pairs[1:])); diff != "" {
		t.Errorf("the other exporter's pairs did not age (-got +want):\n%s", diff)
	}
}

func TestSamplingErrorOfOneGigabyte(t *testing.T) {
	// 1 GB of 1500-byte packets: 3.9 % at 1:1000, 12 % at 1:10,000; of 9000-byte frames 9.5 % at 1:1000.
	for name, tc := range map[string]struct {
		size, rate uint64
		want       float64
	}{
		"unsampled":                   {1500, 1, 0},
		"unknown":                     {1500, 0, 0},
		"1:2, half of the packets":    {1500, 2, 0.0012},
		"1:1000":                      {1500, 1000, 0.039},
		"1:10000":                     {1500, 10000, 0.122},
		"jumbo frames at 1:1000":      {9000, 1000, 0.095},
		"fewer packets than a sample": {9000, 1e9, 1},
	} {
		e := Evidence{Packets: 1e9 / tc.size, SamplingRate: tc.rate}
		if got := e.SamplingError(); math.IsNaN(got) || math.Abs(got-tc.want) > 0.0005 {
			t.Errorf("%s: error %.4f, want %.3f", name, got, tc.want)
		}
	}
}

func TestIDsAreStableAndFitForADevice(t *testing.T) {
	key := Key{wr, Prefixes{netip.MustParsePrefix("10.1.0.0/24"), netip.MustParsePrefix("10.2.0.0/24")}}
	// Stored on routers and in change sets: this value must never change.
	if got := key.ID(); got != "p6gsacxg7gqha" {
		t.Errorf("id %q", got)
	}
	back := Key{wr, Prefixes{key.Prefixes.Dst, key.Prefixes.Src}}
	elsewhere := Key{er, key.Prefixes}
	if key.ID() == back.ID() || key.ID() == elsewhere.ID() {
		t.Error("different pairs share an id")
	}
}

func TestBoundsOfTheRule(t *testing.T) {
	if err := DefaultRule().Validate(); err != nil {
		t.Errorf("the default rule: %v", err)
	}
	for name, c := range map[string]struct{ good, bad func(*Rule) }{
		"interval":           {func(r *Rule) { r.Interval = time.Second }, func(r *Rule) { r.Interval = time.Second - 1 }},
		"interval, long":     {func(r *Rule) { r.Interval = 24 * time.Hour }, func(r *Rule) { r.Interval = 24*time.Hour + time.Second }},
		"interval, exact":    {func(r *Rule) { r.Interval = 1001 * time.Millisecond }, func(r *Rule) { r.Interval = 1001*time.Millisecond + 1 }},
		"threshold":          {func(r *Rule) { r.MinBytes = 1 }, func(r *Rule) { r.MinBytes = 0 }},
		"IPv4, short":        {func(r *Rule) { r.IPv4Length = 24 }, func(r *Rule) { r.IPv4Length = 23 }},
		"IPv4, long":         {func(r *Rule) { r.IPv4Length = 32 }, func(r *Rule) { r.IPv4Length = 31 }},
		"IPv6, short":        {func(r *Rule) { r.IPv6Length = 48 }, func(r *Rule) { r.IPv6Length = 47 }},
		"IPv6, long":         {func(r *Rule) { r.IPv6Length = 64 }, func(r *Rule) { r.IPv6Length = 128 }},
		"ageing":             {func(r *Rule) { r.AgeAfter = r.Interval }, func(r *Rule) { r.AgeAfter = r.Interval - 1 }},
		"evidence of a pair": {func(r *Rule) { r.MaxEvidence = 1 }, func(r *Rule) { r.MaxEvidence = 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			r := DefaultRule()
			if c.good(&r); r.Validate() != nil {
				t.Errorf("%+v: %v", r, r.Validate())
			}
			if c.bad(&r); r.Validate() == nil {
				t.Errorf("%+v was accepted", r)
			}
		})
	}
}
