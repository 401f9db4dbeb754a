package replay

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/services/alpha/detect"
)

var (
	router = netip.MustParseAddr("192.0.2.1")
	first  = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
)

const day = 24 * time.Hour

func sum(dst string, at time.Time, bytes uint64) detect.Sum {
	flow := detect.Flow{Src: netip.MustParseAddrPort("10.1.0.5:40000"), Dst: netip.MustParseAddrPort(dst + ":5001")}
	return detect.Sum{Exporter: router, Flow: flow, Start: at, Bytes: bytes, LastRecordEnd: at.Add(time.Minute)}
}

// A pair costs its first day, catches from the next on, and is forgotten when it is silent.
func TestNightlyRuns(t *testing.T) {
	p := &Player{Rule: detect.DefaultRule()}
	p.Rule.AgeAfter = 2 * day
	key := func(dst string) detect.Key {
		k, ok := p.Rule.KeyOf(sum(dst, first, 0))
		if !ok {
			t.Fatal(dst)
		}
		return k
	}
	on := func(n int, at time.Duration) time.Time { return first.Add(time.Duration(n)*day + at) }
	for i, c := range []struct {
		name string
		day  Day
		want Run
	}{
		{"an unknown pair is missed",
			Day{Sums: []detect.Sum{sum("10.3.0.9", on(0, 0), 1e9), sum("10.2.0.9", on(0, 0), 2e9)}},
			Run{Added: 1, AlphaBytes: 2e9}},
		{"a known one is caught, with what its other flows sent; another is missed",
			Day{
				Sums:    []detect.Sum{sum("10.2.0.77", on(1, 0), 3e9), sum("10.4.0.9", on(1, 0), 5e9)},
				Traffic: map[detect.Key]Traffic{key("10.2.0.9"): {Bytes: 10e9, AlphaFlowBytes: 4e9, LastSeen: on(1, time.Hour)}},
			},
			Run{Known: 1, Added: 1, AlphaBytes: 8e9, CaughtBytes: 3e9, RedirectedBytes: 10e9, FalseBytes: 6e9}},
		{"a refused exporter's pairs stay, and still catch",
			Day{
				Sums: []detect.Sum{sum("10.2.0.9", on(2, 0), 2e9), sum("10.5.0.9", on(2, 0), 2e9), sum("10.4.0.9", on(2, 0), 3e9)}, Frozen: map[netip.Addr]bool{router: true},
				Traffic: map[detect.Key]Traffic{
					key("10.2.0.9"): {Bytes: 7e9, AlphaFlowBytes: 5e9, LastSeen: on(2, time.Hour)}, key("10.4.0.9"): {Bytes: 8e9, AlphaFlowBytes: 3e9, LastSeen: on(2, time.Hour)},
				},
			},
			Run{Known: 2, AlphaBytes: 7e9, CaughtBytes: 5e9, RedirectedBytes: 15e9, FalseBytes: 7e9, Refused: 1}},
		{"the silent pair is forgotten, one that sent something is not",
			Day{Traffic: map[detect.Key]Traffic{key("10.4.0.9"): {Bytes: 1, LastSeen: on(3, 0)}}},
			Run{Known: 2, AgedOut: 1, RedirectedBytes: 1, FalseBytes: 1}},
	} {
		c.day.From, c.day.To, c.want.Day = on(i, 0), on(i+1, 0), on(i, 0)
		got := p.Run(c.day)
		if diff := cmp.Diff(got, c.want); diff != "" {
			t.Errorf("%s (-got +want):\n%s", c.name, diff)
		}
	}
}
