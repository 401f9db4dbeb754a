package exporter

import (
	"net/netip"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/flowrecord"
)

// TestHours sends datagrams at their times and wants what is kept of each hour.
func TestHours(t *testing.T) {
	data := func(seq uint32, n int) []byte { return v9(header{seq: seq}, tmpl(9), flows(n, hour)) }
	rated := func(seq uint32, n int) []byte { return v9(header{seq: seq}, sampler(0, 100), tmpl(9), flows(n, hour)) }
	oneOf := func(iface uint32) []byte { return u32(0x0a000001, 0x0a000002, 1500, hour-2000, hour-1000, iface) }
	type sent struct {
		after time.Duration
		d     []byte
	}
	counted := func(start time.Duration, h Hour) Hour {
		h.Exporter, h.Source, h.Start, h.Revision = router.Addr(), flowrecord.NetFlowV9, epoch.Add(start), 1
		return h
	}
	unparsed := func(h Hour) Hour { h.Source = flowrecord.SourceUnspecified; return h }
	for _, c := range []struct {
		name string
		sent []sent
		want []Hour
	}{
		{"records whose rate is told", []sent{{0, rated(1, 3)}}, []Hour{counted(0, Hour{Datagrams: 1, Records: 3, Received: 1})}},
		{"records before the rate is told stay unknown", []sent{{0, data(1, 3)}, {time.Minute, rated(2, 2)}},
			[]Hour{counted(0, Hour{Datagrams: 2, Records: 5, UnknownRate: 3, Received: 2})}},
		{"two samplers, each for the flows of its interface",
			[]sent{{0, v9(header{seq: 1}, sampler(7, 50), sampler(8, 60), tmpl(9), set(256, oneOf(7), oneOf(8), oneOf(7)))}},
			[]Hour{counted(0, Hour{Datagrams: 1, Records: 3, Received: 1})}},
		{"two samplers, and flows of an interface of neither",
			[]sent{{0, v9(header{seq: 1}, sampler(7, 50), sampler(8, 60), tmpl(9), set(256, oneOf(7), oneOf(9)))}},
			[]Hour{counted(0, Hour{Datagrams: 1, Records: 2, UnknownRate: 1, Received: 1})}},
		{"a rate in each record", []sent{{0, v9(header{seq: 1}, set(0, u16(256, 6, 8, 4, 12, 4, 1, 4, 22, 4, 21, 4, 34, 4)), set(256, oneOf(100), oneOf(200)))}},
			[]Hour{counted(0, Hour{Datagrams: 1, Records: 2, Received: 1})}},
		{"loss is of the hour in which it shows", []sent{{0, rated(1, 1)}, {59 * time.Minute, rated(4, 1)}, {61 * time.Minute, rated(5, 1)}},
			[]Hour{counted(0, Hour{Datagrams: 2, Records: 2, Received: 2, Lost: 2}), counted(time.Hour, Hour{Datagrams: 1, Records: 1, Received: 1})}},
		{"a late datagram was not lost", []sent{{0, rated(1, 1)}, {1, rated(4, 1)}, {2, rated(2, 1)}},
			[]Hour{counted(0, Hour{Datagrams: 3, Records: 3, Received: 3, Lost: 1})}},
		{"data before its template", []sent{{0, v9(header{seq: 1}, set(999, u32(1)))}},
			[]Hour{counted(0, Hour{Datagrams: 1, Received: 1, NoTemplate: 1})}},
		{"a clock two days ahead", []sent{{0, v9(header{seq: 1, at: epoch.Add(48 * time.Hour)}, tmpl(9), flows(2, hour))}},
			[]Hour{counted(0, Hour{Datagrams: 1, Received: 1, OutOfRange: 2})}},
		{"a datagram cut short, of no domain", []sent{{0, data(1, 3)[:50]}}, []Hour{unparsed(counted(0, Hour{Refused: 1}))}},
		{"a header alone says nothing", []sent{{0, v9(header{seq: 1, domain: 777})}, {0, ipfix10(header{seq: 9})}, {0, []byte{1}}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, func(cfg *Configuration) { cfg.MaxAge = 100 * time.Hour })
			for _, s := range c.sent {
				b.now = epoch.Add(s.after)
				b.take(router, s.d)
			}
			got := b.table.Hours()
			b.want("hours", got, c.want)
			b.want("hours, asked again at once", b.table.Hours(), []Hour(nil))
		})
	}
}

// TestHoursAreReportedAgainWhenTheyChange: earlier counts of an hour are replaced by later ones.
func TestHoursAreReportedAgainWhenTheyChange(t *testing.T) {
	b := newBench(t, nil)
	for i := range uint32(3) {
		b.take(router, v9(header{seq: i}, tmpl(9), flows(2, hour)))
		got := b.table.Hours()
		if len(got) != 1 || got[0].Records != 2*uint64(i+1) || got[0].Revision != uint64(i+1) {
			t.Errorf("reading %d: %+v, want one hour of %d records", i+1, got, 2*(i+1))
		}
	}
}

// TestHoursThatNobodyAskedForAreKept: the bus may be stuck for longer than an hour.
func TestHoursThatNobodyAskedForAreKept(t *testing.T) {
	b := newBench(t, func(c *Configuration) { c.MaxAge = 24 * time.Hour })
	for i := range uint32(5) {
		b.now = epoch.Add(time.Duration(i) * time.Hour)
		b.take(router, v9(header{seq: i}, tmpl(9), flows(1, hour)))
	}
	var records uint64
	for _, h := range b.table.Hours() {
		records += h.Records
	}
	b.want("records of all hours", records, uint64(5))
}

// TestOldLossIsNoLossOfToday: the ratio shown is that of this hour and the one before.
func TestOldLossIsNoLossOfToday(t *testing.T) {
	b := newBench(t, nil)
	b.take(router, v9(header{seq: 1}, tmpl(9), flows(1, hour)), v9(header{seq: 61}, flows(1, hour)))
	b.now = epoch.Add(3 * time.Hour)
	b.take(router, v9(header{seq: 62}, tmpl(9), flows(1, hour)))
	b.want("loss ratio", b.only().LossRatio, 0.0)
	b.want("lost since the start", b.only().Lost, uint64(59))
}

// TestOneSocketTellsTheRateForAll: line cards share address and domain, and only one sends the options.
func TestOneSocketTellsTheRateForAll(t *testing.T) {
	other := netip.AddrPortFrom(router.Addr(), 5000)
	for _, c := range []struct {
		name string
		send func(b *bench)
		want uint64
	}{
		{"the other socket tells", func(b *bench) { b.take(other, v9(header{seq: 1}, sampler(0, 100))) }, 100},
		{"another exporter tells", func(b *bench) {
			b.take(netip.MustParseAddrPort("192.0.2.2:4000"), v9(header{seq: 1}, sampler(0, 100)))
		}, 0},
		{"another domain tells", func(b *bench) { b.take(other, v9(header{seq: 1, domain: 9}, sampler(0, 100))) }, 0},
		{"two that differ", func(b *bench) {
			b.take(other, v9(header{seq: 1}, sampler(0, 100)))
			b.take(netip.AddrPortFrom(router.Addr(), 6000), v9(header{seq: 1}, sampler(0, 200)))
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, nil)
			c.send(b)
			got := b.take(router, v9(header{seq: 1}, tmpl(9), flows(1, hour)))
			b.want("rate of the flow", got[0].SamplingRate, c.want)
		})
	}
}
