package gate

import (
	"net/netip"
	"strings"
	"testing"
	"time"
)

var (
	wr    = netip.MustParseAddr("192.0.2.1")
	er    = netip.MustParseAddr("192.0.2.2")
	night = time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)
	// window ends in the middle of an hour, as that of a run by hand does: no collector needs to have run
	// in it yet.
	window = Window{night, night.Add(24*time.Hour + 20*time.Minute)}
)

// good is an hour as it should be.
var good = Counts{Datagrams: 100, Records: 2000, Received: 100}

func hour(n int, c Counts) Hour {
	return Hour{Exporter: wr, Start: night.Add(time.Duration(n) * time.Hour), Counts: c}
}

// day is 24 hours of which some differ.
func day(but map[int]Counts) (out []Hour) {
	for n := range 24 {
		c, ok := but[n]
		if !ok {
			c = good
		}
		out = append(out, hour(n, c))
	}
	return out
}

// collector is its 24 hours, of which some are missing.
func collector(missing ...int) (out []Hour) {
	gone := map[int]bool{}
	for _, n := range missing {
		gone[n] = true
	}
	for n := range 24 {
		if !gone[n] {
			out = append(out, listening(n))
		}
	}
	return out
}

// listening is one hour of a collector.
func listening(n int) Hour {
	return Hour{Exporter: netip.IPv4Unspecified(), Start: night.Add(time.Duration(n) * time.Hour), Kind: Collector, Counts: Counts{Datagrams: 100}}
}

func change(h Hour, by func(*Hour)) Hour { by(&h); return h }

func TestJudge(t *testing.T) {
	lenient := Limits{MaxLoss: 0.01, AllowUnknownSampling: true}
	strict := Limits{MaxLoss: 0.01}
	for _, c := range []struct {
		name   string
		limits Limits
		hours  []Hour
		reason string // of wr; empty: passes
	}{
		{"a good day", strict, day(nil), ""},
		{"one bad hour of a day", strict, day(map[int]Counts{5: {Datagrams: 60, Records: 1200, Received: 60, Lost: 40}}), "1.67 % of its export is missing, the limit is 1.00 %"},
		{"exactly as much as is allowed", strict, []Hour{hour(0, Counts{Datagrams: 99, Records: 1, Received: 99, Lost: 1})}, ""},
		{"flows before the options record", strict, []Hour{hour(0, Counts{Datagrams: 2, Records: 100, Received: 2, UnknownRate: 2})}, "the sampling rate of 2.00 % of its records is unknown"},
		{"a few minutes of a day before the options record", strict, day(map[int]Counts{3: {Datagrams: 100, Records: 2000, Received: 100, UnknownRate: 300}}), ""},
		{"never any rate", strict, []Hour{hour(0, Counts{Datagrams: 9, Records: 9, Received: 9, UnknownRate: 9})}, "100.00 % of its records"},
		{"never any rate, where that is allowed", lenient, []Hour{hour(0, Counts{Datagrams: 9, Records: 9, Received: 9, UnknownRate: 9})}, ""},
		{"a clock that runs ahead: all its records are dropped", strict, day(map[int]Counts{7: {Datagrams: 100, OutOfRange: 2000, Received: 100}}), "4.17 % of its records were dropped for their times"},
		{"nothing but records out of range", strict, []Hour{hour(0, Counts{Datagrams: 5, OutOfRange: 50, Received: 5})}, "100.00 %"},
		{"an hour before its templates", strict, day(map[int]Counts{7: {Datagrams: 100, NoTemplate: 100, Received: 100}}), "of its export came before its templates"},
		{"a domain whose templates never come", strict, append(day(nil), change(hour(0, Counts{Datagrams: 500, NoTemplate: 500, Received: 500}), func(h *Hour) { h.Domain = 7 })), "before its templates"},
		{"datagrams that do not decode", strict, append(day(nil), hour(3, Counts{Refused: 30})), "1.23 % of its datagrams did not decode"},
		{"one bad observation domain of two", strict, append(day(nil), change(hour(0, Counts{Datagrams: 2, Records: 2, Received: 2, Lost: 2}), func(h *Hour) { h.Domain = 7 })),
			"observation domain 7: 50.00 %"},
		{"one bad format of two in the same domain", strict, []Hour{
			change(hour(0, Counts{Datagrams: 5000, Records: 35_000, Received: 5000, Lost: 5000}), func(h *Hour) { h.Format = "sFlow v5" }),
			change(hour(0, Counts{Datagrams: 100_000, Records: 3_000_000, Received: 3_000_000}), func(h *Hour) { h.Format = "IPFIX" }),
		}, "observation domain 0 of sFlow v5: 50.00 %"},
		{"a rate that one format of two does not know", strict, []Hour{
			change(hour(0, Counts{Records: 100, UnknownRate: 100}), func(h *Hour) { h.Kind, h.Format = Imported, "nfcapd" }),
			change(hour(0, Counts{Datagrams: 100_000, Records: 3_000_000, Received: 3_000_000}), func(h *Hour) { h.Format = "IPFIX" }),
		}, "observation domain 0 of nfcapd: the sampling rate of 100.00 %"},
		{"a domain that sent templates only", strict, append(day(nil), change(hour(0, Counts{Datagrams: 2, Received: 2}), func(h *Hour) { h.Domain = 777 })), ""},
		{"an invented domain: one set of unknown content, then a number far ahead", strict,
			append(day(nil), change(hour(0, Counts{Datagrams: 2, NoTemplate: 2, Received: 2, Lost: 100_000}), func(h *Hour) { h.Domain = 777 })), ""},
		{"another exporter's trouble", strict, append(day(nil), change(hour(0, Counts{Records: 1, Received: 1, Lost: 9}), func(h *Hour) { h.Exporter = er })), ""},
		{"drops at the collector's socket", strict, append(day(nil), append(collector(), Hour{Kind: Collector, Start: night, Counts: Counts{SocketDrops: 50}})...), "2.04 % of all datagrams were dropped at the collector's socket"},
		{"a collector that was down for two hours", strict, append(day(nil), collector(9, 10)...), "no collector listened in 2 of 24 hours"},
		{"a collector that began to listen in the window, the first ever", strict, append(day(nil), collector(0, 1, 2, 3)...), ""},
		{"a collector that was down when the window began", strict, append(day(nil), append(collector(0, 1), listening(-1))...), "no collector listened in 2 of 24 hours"},
		{"a collector that was down when the window began, and listened a day before", strict, append(day(nil), append(collector(0), listening(-24))...), "1 of 24 hours"},
		{"a collector that has been down since the middle of the window", strict, append(day(nil), collector(12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23)...), "12 of 24 hours"},
		{"a collector that came back when the window was over", strict, append(day(nil), append(collector(23), listening(24))...), "1 of 24 hours"},
		{"no collector in all of the window", strict, append(day(nil), listening(-3)), "24 of 24 hours"},
		{"no collector until the window was over", strict, append(day(nil), listening(25)), "24 of 24 hours"},
		{"an exporter's loss before the window", strict, append(day(nil), hour(-1, Counts{Datagrams: 1, Records: 9, Received: 1, Lost: 99})), ""},
		{"files, while no collector listened", strict, append([]Hour{change(hour(0, Counts{Records: 9}), func(h *Hour) { h.Kind = Imported })}, collector(9, 10)...), ""},
		{"files without a rate", strict, []Hour{change(hour(0, Counts{Records: 9, UnknownRate: 9}), func(h *Hour) { h.Kind = Imported })}, "unknown"},
		{"nothing known", strict, nil, "nothing is known of its export"},
		{"only another exporter known", strict, []Hour{change(hour(0, good), func(h *Hour) { h.Exporter = er })}, "nothing is known of its export"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.limits.Judge(window, c.hours, []netip.Addr{wr})[wr]
			if (c.reason == "") != (got == "") || !strings.Contains(got, c.reason) {
				t.Errorf("reason %q, want %q", got, c.reason)
			}
		})
	}
}

// TestExportersWithoutPairsAreNotRefusedForSilence: they have nothing that could change.
func TestExportersWithoutPairsAreNotRefusedForSilence(t *testing.T) {
	if got := (Limits{MaxLoss: 0.01}).Judge(window, day(nil), nil); len(got) != 0 {
		t.Errorf("refused %v, want nobody", got)
	}
}

// TestAnHourThatIsNotOver: the window ends in the middle of an hour, and the first collector ever began in it.
func TestAnHourThatIsNotOver(t *testing.T) {
	if got := (Limits{}).Judge(window, append(day(nil), listening(24)), nil); len(got) != 0 {
		t.Errorf("in the last hour of the window: %v", got)
	}
	whole := Window{window.From, night.Add(24 * time.Hour)}
	if got := (Limits{}).Judge(whole, append(day(nil), listening(24)), nil)[wr]; !strings.Contains(got, "no collector listened in 24 of 24 hours (100.00 %)") {
		t.Errorf("in the first hour after it: %q", got)
	}
}

// TestTheOrderOfHoursDoesNotMatter: a collector's before an exporter's.
func TestTheOrderOfHoursDoesNotMatter(t *testing.T) {
	got := (Limits{MaxLoss: 0.5}).Judge(window, append(collector(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12), append(day(nil), listening(-1))...), nil)[wr]
	if !strings.Contains(got, "13 of 24 hours (54.17 %)") {
		t.Errorf("%q", got)
	}
}

func TestInvalidLimitsAreRefused(t *testing.T) {
	for _, loss := range []float64{0, 1} {
		if err := (Limits{MaxLoss: loss}).Validate(); err != nil {
			t.Error(err)
		}
	}
	for _, loss := range []float64{-0.1, 1.1} {
		if err := (Limits{MaxLoss: loss}).Validate(); err == nil {
			t.Errorf("a largest loss of %g is accepted", loss)
		}
	}
}
