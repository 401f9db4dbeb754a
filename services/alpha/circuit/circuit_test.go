package circuit

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/services/alpha/detect"
	"github.com/millrace/millrace/services/circuits/traffic"
	"github.com/millrace/millrace/services/policy/document"
)

var (
	wr   = netip.MustParseAddr("192.0.2.1")
	er   = netip.MustParseAddr("192.0.2.2")
	noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
)

func after(d time.Duration) time.Time { return noon.Add(d) }

func pair(src, dst string) traffic.Match {
	return traffic.Match{Src: netip.MustParsePrefix(src), Dst: netip.MustParsePrefix(dst)}
}

func sum(exporter netip.Addr, src, dst string, start time.Time) detect.Sum {
	return detect.Sum{Exporter: exporter, Start: start, Bytes: 2e9, Flow: detect.Flow{
		Src: netip.MustParseAddrPort(src), Dst: netip.MustParseAddrPort(dst), Protocol: 6,
	}}
}

// one is a circuit from 12:00:30 to 12:10:30.
func one(id string, pairs ...traffic.Match) Circuit {
	return Circuit{ID: id, Exporters: []netip.Addr{wr}, Traffic: pairs, InForce: []Span{{after(30 * time.Second), after(10*time.Minute + 30*time.Second)}}}
}

func TestWhatACircuitHas(t *testing.T) {
	narrow, wide := pair("10.1.0.5/32", "10.2.0.0/24"), pair("10.0.0.0/8", "10.2.0.0/16")
	open := Circuit{ID: "a", Exporters: []netip.Addr{wr}, Traffic: []traffic.Match{narrow}, InForce: []Span{{From: after(time.Minute)}}}
	twice := one("a", narrow)
	twice.InForce = append(twice.InForce, Span{after(time.Hour), after(2 * time.Hour)})
	tcp, udp := narrow, narrow
	tcp.Protocol, tcp.DstPort, udp.Protocol = document.TCP, &document.PortRange{First: 2, Last: 9}, document.UDP
	both := one("a", narrow)
	both.Exporters = append(both.Exporters, er)
	for _, c := range []struct {
		name     string
		circuits []Circuit
		exporter netip.Addr
		src, dst string
		at       time.Duration
		want     string // the circuit; none
	}{
		{"no circuit at all", nil, wr, "10.1.0.5:1", "10.2.0.9:2", time.Minute, ""},
		{"within its pair and its time", []Circuit{one("a", narrow)}, wr, "10.1.0.5:1", "10.2.0.9:2", time.Minute, "a"},
		{"the first interval, which begins before the circuit", []Circuit{one("a", narrow)}, wr, "10.1.0.5:1", "10.2.0.9:2", 0, "a"},
		{"the last interval, which ends after the circuit", []Circuit{one("a", narrow)}, wr, "10.1.0.5:1", "10.2.0.9:2", 10 * time.Minute, "a"},
		{"the interval before", []Circuit{one("a", narrow)}, wr, "10.1.0.5:1", "10.2.0.9:2", -time.Minute, ""},
		{"the interval after", []Circuit{one("a", narrow)}, wr, "10.1.0.5:1", "10.2.0.9:2", 11 * time.Minute, ""},
		{"an interval that ends as it begins", []Circuit{one("a", narrow)}, wr, "10.1.0.5:1", "10.2.0.9:2", -30 * time.Second, ""},
		{"an interval that begins as it ends", []Circuit{one("a", narrow)}, wr, "10.1.0.5:1", "10.2.0.9:2", 10*time.Minute + 30*time.Second, ""},
		{"a circuit without an end", []Circuit{open}, wr, "10.1.0.5:1", "10.2.0.9:2", 1000 * time.Hour, "a"},
		{"before a circuit without an end", []Circuit{open}, wr, "10.1.0.5:1", "10.2.0.9:2", 0, ""},
		{"in force again", []Circuit{twice}, wr, "10.1.0.5:1", "10.2.0.9:2", 90 * time.Minute, "a"},
		{"between two times in force", []Circuit{twice}, wr, "10.1.0.5:1", "10.2.0.9:2", 30 * time.Minute, ""},
		{"never in force", []Circuit{{ID: "a", Exporters: []netip.Addr{wr}, Traffic: []traffic.Match{narrow}}}, wr, "10.1.0.5:1", "10.2.0.9:2", time.Minute, ""},
		{"a circuit that names no traffic", []Circuit{one("a")}, wr, "10.1.0.5:1", "10.2.0.9:2", time.Minute, ""},
		{"of its protocol and ports", []Circuit{one("a", tcp)}, wr, "10.1.0.5:1", "10.2.0.9:2", time.Minute, "a"},
		{"of its protocol and another port", []Circuit{one("a", tcp)}, wr, "10.1.0.5:1", "10.2.0.9:10", time.Minute, ""},
		{"of another protocol", []Circuit{one("a", udp)}, wr, "10.1.0.5:1", "10.2.0.9:2", time.Minute, ""},
		{"its neighbour in the same /24", []Circuit{one("a", narrow)}, wr, "10.1.0.6:1", "10.2.0.9:2", time.Minute, ""},
		{"another destination", []Circuit{one("a", narrow)}, wr, "10.1.0.5:1", "10.3.0.9:2", time.Minute, ""},
		{"the way back", []Circuit{one("a", narrow)}, wr, "10.2.0.9:2", "10.1.0.5:1", time.Minute, ""},
		{"one of two pairs", []Circuit{one("a", narrow, pair("10.7.0.0/24", "10.8.0.0/24"))}, wr, "10.7.0.5:1", "10.8.0.9:2", time.Minute, "a"},
		{"source of one pair, destination of the other", []Circuit{one("a", narrow, pair("10.7.0.0/24", "10.8.0.0/24"))}, wr, "10.1.0.5:1", "10.8.0.9:2", time.Minute, ""},
		{"a pair wider than those remembered", []Circuit{one("a", wide)}, wr, "10.1.0.5:1", "10.2.77.9:2", time.Minute, "a"},
		{"IPv4 in IPv6 notation", []Circuit{one("a", narrow)}, wr, "[::ffff:10.1.0.5]:1", "[::ffff:10.2.0.9]:2", time.Minute, "a"},
		{"IPv6", []Circuit{one("a", pair("2001:db8:1::/48", "2001:db8:2::/48"))}, wr, "[2001:db8:1::5]:1", "[2001:db8:2::9]:2", time.Minute, "a"},
		{"another router, where the circuit has no rules", []Circuit{one("a", narrow)}, er, "10.1.0.5:1", "10.2.0.9:2", time.Minute, ""},
		{"an ingress router with two addresses", []Circuit{both}, er, "10.1.0.5:1", "10.2.0.9:2", time.Minute, "a"},
		{"a circuit of nobody's address", []Circuit{{ID: "a", Traffic: []traffic.Match{narrow}, InForce: []Span{{From: noon}}}}, wr, "10.1.0.5:1", "10.2.0.9:2", time.Minute, ""},
		{"two circuits have it: the first id", []Circuit{one("b", narrow), one("a", wide)}, wr, "10.1.0.5:1", "10.2.0.9:2", time.Minute, "a"},
		{"the first id does not have it", []Circuit{one("b", wide), one("a", narrow)}, wr, "10.1.0.6:1", "10.2.0.9:2", time.Minute, "b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := sum(c.exporter, c.src, c.dst, after(c.at))
			rest, within := Split(c.circuits, time.Minute, []detect.Sum{s})
			if c.want == "" {
				if len(within) != 0 || !slices.Equal(rest, []detect.Sum{s}) {
					t.Errorf("within %v, left %v; want it left", within, rest)
				}
				return
			}
			if len(rest) != 0 || len(within) != 1 || within[0].Circuit != c.want || !slices.Equal(within[0].Sums, []detect.Sum{s}) {
				t.Errorf("within %v, left %v; want it within %s", within, rest, c.want)
			}
		})
	}
}

// Every sum is on one side, once, and the order of circuits changes nothing.
func TestEverySumIsOnOneSide(t *testing.T) {
	circuits := []Circuit{one("c", pair("10.3.0.0/16", "10.0.0.0/8")), one("a", pair("10.1.0.0/16", "10.0.0.0/8")), one("b", pair("10.1.0.0/17", "10.0.0.0/8"))}
	var sums []detect.Sum
	for _, src := range []string{"10.1.0.1:1", "10.3.0.1:1", "10.2.0.1:1", "10.1.200.1:1", "10.3.7.1:1", "10.2.7.1:1"} {
		sums = append(sums, sum(wr, src, "10.9.0.1:2", after(time.Minute)))
	}
	for range 2 {
		rest, within := Split(circuits, time.Minute, sums)
		if !slices.Equal(rest, []detect.Sum{sums[2], sums[5]}) || len(within) != 2 ||
			within[0].Circuit != "a" || !slices.Equal(within[0].Sums, []detect.Sum{sums[0], sums[3]}) ||
			within[1].Circuit != "c" || !slices.Equal(within[1].Sums, []detect.Sum{sums[1], sums[4]}) {
			t.Errorf("left %v, within %v", rest, within)
		}
		slices.Reverse(circuits)
	}
}

func TestWhenACircuitWasInForce(t *testing.T) {
	minute := func(n int) time.Time { return after(time.Duration(n) * time.Minute) }
	for _, c := range []struct {
		name    string
		history []State
		want    []Span
	}{
		{"nothing is known", nil, nil},
		{"never", []State{{minute(0), false}, {minute(1), false}}, nil},
		{"until now", []State{{minute(0), false}, {minute(1), true}, {minute(2), true}}, []Span{{From: minute(1)}}},
		{"from the first thing that is known", []State{{minute(1), true}, {minute(2), false}}, []Span{{minute(1), minute(2)}}},
		{"over", []State{{minute(1), true}, {minute(2), true}, {minute(3), false}, {minute(4), false}}, []Span{{minute(1), minute(3)}}},
		{"twice", []State{{minute(1), true}, {minute(2), false}, {minute(3), true}}, []Span{{minute(1), minute(2)}, {From: minute(3)}}},
	} {
		if got := InForce(c.history); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
