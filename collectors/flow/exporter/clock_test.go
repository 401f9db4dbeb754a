package exporter

import (
	"net/netip"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/flowrecord"
)

func TestTimesFromUptime(t *testing.T) {
	b := newBench(t, nil)
	got := b.take(router, v9(header{seq: 1}, tmpl(9), flows(1, hour)))
	b.want("records", got, []flowrecord.Record{{
		Exporter: router.Addr(), Start: epoch.Add(-2 * time.Second), End: epoch.Add(-time.Second),
		Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2"), Bytes: 1500, InIf: 7, Source: flowrecord.NetFlowV9,
	}})
}

// TestTimesDoNotShiftBetweenDatagrams: v9's clock has whole seconds, so that
// each datagram alone is up to a second wrong, differently.
func TestTimesDoNotShiftBetweenDatagrams(t *testing.T) {
	b := newBench(t, nil)
	boot := epoch.Add(-time.Hour)
	var ends []time.Duration
	first := v9(header{seq: 1}, tmpl(9))
	b.take(router, first)
	for i := range uint32(40) {
		sent := epoch.Add(time.Duration(i) * 337 * time.Millisecond)
		uptime := uint32(sent.Sub(boot).Milliseconds())
		for _, r := range b.take(router, v9(header{seq: 2 + i, at: sent, uptime: uptime}, flows(1, uptime))) {
			ends = append(ends, sent.Add(-time.Second).Sub(r.End).Abs())
		}
	}
	if len(ends) != 40 {
		t.Fatalf("%d records, want 40", len(ends))
	}
	for i, off := range ends {
		if off > 15*time.Millisecond { // 1/337 of 1000 ms steps come that near to a whole second
			t.Errorf("record %d is off by %s", i, off)
		}
	}
}

func TestUptimeWrapsAfter49Days(t *testing.T) {
	b := newBench(t, nil)
	const beforeWrap, afterWrap = 0xffffff00, 0x300
	b.take(router, v9(header{seq: 1, uptime: beforeWrap}, tmpl(9)))
	at := epoch.Add(time.Second)
	got := b.take(router, v9(header{seq: 2, at: at, uptime: afterWrap}, flows(1, afterWrap)))
	b.want("records", len(got), 1)
	b.want("duration", got[0].End.Sub(got[0].Start), time.Second)
	if off := got[0].End.Sub(at.Add(-time.Second)).Abs(); off > time.Second {
		t.Errorf("end is off by %s", off)
	}
	b.want("restarts", b.only().Events[EventRestart], uint64(0))
}

func TestIPFIXUptimesCountFromTheAnnouncedStart(t *testing.T) {
	b := newBench(t, nil)
	boot := uint64(epoch.Add(-time.Hour).UnixMilli())
	options := set(3, u16(300, 2, 1, 144, 4, 160, 8))
	data := set(300, u32(0, uint32(boot>>32), uint32(boot)))
	got := b.take(router, ipfix10(header{}, options, data, tmpl(10), flows(1, hour)))
	b.want("start", got[0].Start, epoch.Add(-2*time.Second))
	b.want("end", got[0].End, epoch.Add(-time.Second))
}

// Open vSwitch says how long before the message a flow began and ended, in microseconds.
func TestTimesBeforeTheExport(t *testing.T) {
	b := newBench(t, nil)
	template := set(2, u16(256, 5, 8, 4, 12, 4, 1, 4, 158, 4, 159, 4))
	got := b.take(router, ipfix10(header{}, template, set(256, u32(0x0a000001, 0x0a000002, 1500, 60_000_000, 0), u32(0x0a000001, 0x0a000002, 1500, 2_500_000, 1_000))))
	b.want("start", got[0].Start, epoch.Add(-time.Minute))
	b.want("end", got[0].End, epoch)
	b.want("start of the second", got[1].Start, epoch.Add(-2500*time.Millisecond))
	b.want("end of the second", got[1].End, epoch.Add(-time.Millisecond))
}

func TestIPFIXUptimesWithoutStartKeepTheirLength(t *testing.T) {
	b := newBench(t, nil)
	got := b.take(router, ipfix10(header{}, tmpl(10), flows(1, hour)))
	b.want("start", got[0].Start, epoch.Add(-time.Second))
	b.want("end", got[0].End, epoch)
}

func TestClockJumps(t *testing.T) {
	b := newBench(t, nil)
	jump := 100 * time.Second
	b.take(router, v9(header{seq: 1}, tmpl(9), flows(1, hour)))
	b.now = b.now.Add(time.Second)
	got := b.take(router, v9(header{seq: 2, at: epoch.Add(time.Second + jump), uptime: hour + 1000}, flows(1, hour+1000)))
	b.want("events", b.only().Events, map[string]uint64{EventClockJump: 1})
	b.want("end, by the exporter's new clock", got[0].End, epoch.Add(jump))
}
