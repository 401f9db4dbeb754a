package exporter

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millrace/millrace/internal/flowrecord"
)

var (
	router = netip.MustParseAddrPort("192.0.2.1:4000")
	epoch  = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
)

// bench is a table with one exporter, whose datagrams arrive a moment after they were sent.
type bench struct {
	t     *testing.T
	table *Table
	now   time.Time
}

// workers of the tables that are tested: every test of a bound is one of several parts that share it.
const workers = 3

func newBench(t *testing.T, change func(*Configuration)) *bench {
	cfg := DefaultConfiguration()
	if change != nil {
		change(&cfg)
	}
	return &bench{t, NewTable(cfg, nil, workers), epoch}
}

func (b *bench) take(from netip.AddrPort, datagrams ...[]byte) []flowrecord.Record {
	var out []flowrecord.Record
	for _, d := range datagrams {
		out = b.table.Take([]Datagram{{From: from, Payload: d}}, b.now, out)
	}
	return out
}

// sessions is how many there are, which the table has also counted.
func (b *bench) sessions() (n int) {
	b.t.Helper()
	for _, p := range b.table.parts {
		n += len(p.sessions)
	}
	b.want("sessions that are counted", b.table.sessions.n.Load(), int64(n))
	return n
}

// elsewhere is how many sessions of other collectors there are.
func (b *bench) elsewhere() (n int) {
	for _, p := range b.table.parts {
		n += len(p.elsewhere)
	}
	return n
}

// only is the quality of the one exporter there is.
func (b *bench) only() Quality {
	b.t.Helper()
	all := b.table.Quality(b.now)
	if len(all) != 1 {
		b.t.Fatalf("%d exporters, want 1", len(all))
	}
	return all[0]
}

func (b *bench) want(what string, got, want any) {
	b.t.Helper()
	if d := cmp.Diff(got, want, cmpopts.EquateComparable(netip.Addr{}, netip.AddrPort{})); d != "" {
		b.t.Errorf("%s: -got +want\n%s", what, d)
	}
}

func u16(n ...uint16) (b []byte) {
	for _, v := range n {
		b = binary.BigEndian.AppendUint16(b, v)
	}
	return b
}

func u32(n ...uint32) (b []byte) {
	for _, v := range n {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return b
}

func set(id uint16, body ...[]byte) []byte {
	var all []byte
	for _, p := range body {
		all = append(all, p...)
	}
	return append(u16(id, uint16(len(all)+4)), all...)
}

// header is what a test varies of a datagram.
type header struct {
	seq    uint32
	at     time.Time // the exporter's clock; epoch if zero
	uptime uint32    // an hour if zero
	domain uint32
}

func (h header) fill() header {
	if h.at.IsZero() {
		h.at = epoch
	}
	if h.uptime == 0 {
		h.uptime = 3_600_000
	}
	return h
}

func v9(h header, sets ...[]byte) []byte {
	h = h.fill()
	b := append(u16(9, uint16(len(sets))), u32(h.uptime, uint32(h.at.Unix()), h.seq, h.domain)...)
	for _, s := range sets {
		b = append(b, s...)
	}
	return b
}

func ipfix10(h header, sets ...[]byte) []byte {
	h = h.fill()
	var body []byte
	for _, s := range sets {
		body = append(body, s...)
	}
	return append(append(u16(10, uint16(len(body)+16)), u32(uint32(h.at.Unix()), h.seq, h.domain)...), body...)
}

func v5(h header, sampling uint16, records int) []byte {
	h = h.fill()
	b := append(u16(5, uint16(records)), u32(h.uptime, uint32(h.at.Unix()), 0, h.seq)...)
	b = append(b, u16(0, sampling)...)
	for range records {
		b = append(b, u32(0x0a000001, 0x0a000002, 0)...)
		b = append(b, u16(3, 4)...)
		b = append(b, u32(10, 1500, h.uptime-2000, h.uptime-1000)...)
		b = append(b, make([]byte, 16)...)
	}
	return b
}

// tmpl describes flow: source, destination, bytes, first, last, ifIndex.
func tmpl(version uint16) []byte {
	id := uint16(0)
	if version == 10 {
		id = 2
	}
	return set(id, u16(256, 6, 8, 4, 12, 4, 1, 4, 22, 4, 21, 4, 10, 4))
}

// flows are n records of one second each, which ended a second before uptime.
func flows(n int, uptime uint32) []byte {
	var b []byte
	for i := range n {
		b = append(b, u32(0x0a000001, 0x0a000002, 1500+uint32(i), uptime-2000, uptime-1000, 7)...)
	}
	return set(256, b)
}

const hour = 3_600_000

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

// TestSoftflowdHasNoLoss runs the captures of a real exporter, which counts
// IPFIX records in its own way.
func TestSoftflowdHasNoLoss(t *testing.T) {
	for _, name := range []string{"5-s1", "9-s1", "9-live", "10-s1"} {
		t.Run(name, func(t *testing.T) {
			paths, err := filepath.Glob(filepath.Join("..", "decode", "testdata", "softflowd", name+"-*.bin"))
			if err != nil || len(paths) == 0 {
				t.Fatalf("no capture: %v", err)
			}
			b := newBench(t, nil)
			b.now = time.Date(2026, 11, 21, 12, 37, 55, 0, time.UTC)
			n := 0
			for _, p := range paths {
				d, err := os.ReadFile(p)
				if err != nil {
					t.Fatal(err)
				}
				n += len(b.take(router, d))
			}
			q := b.only()
			b.want("datagrams", q.Datagrams, uint64(len(paths)))
			b.want("records", q.Records, uint64(n))
			b.want("lost", q.Lost, uint64(0))
			b.want("drops", q.Drops, map[string]uint64{})
			b.want("events", q.Events, map[string]uint64{})
		})
	}
}

func TestSequences(t *testing.T) {
	const second = time.Second
	v9flow := func(h header) []byte { return v9(h, tmpl(9), flows(2, hour)) }
	v5flow := func(h header) []byte { return v5(h, 0, 3) }
	v10flow := func(h header) []byte { return ipfix10(h, tmpl(10), flows(2, hour)) }
	for _, c := range []struct {
		name      string
		datagrams [][]byte
		lost      uint64
		events    map[string]uint64
		drops     map[string]uint64
		records   uint64
	}{
		{"v9 counts packets", [][]byte{v9flow(header{seq: 10}), v9flow(header{seq: 11}), v9flow(header{seq: 15})}, 3, nil, nil, 6},
		{"v5 counts records", [][]byte{v5flow(header{seq: 100}), v5flow(header{seq: 103}), v5flow(header{seq: 116})}, 10, nil, nil, 9},
		{"IPFIX counts records sent before", [][]byte{v10flow(header{seq: 50}), v10flow(header{seq: 52}), v10flow(header{seq: 59})}, 5, nil, nil, 6},
		{"the number wraps", [][]byte{v9flow(header{seq: 0xffffffff}), v9flow(header{seq: 0})}, 0, nil, nil, 4},
		{"the number wraps in a gap", [][]byte{v9flow(header{seq: 0xfffffffe}), v9flow(header{seq: 1})}, 2, nil, nil, 4},
		{"a late datagram was not lost", [][]byte{v9flow(header{seq: 1}), v9flow(header{seq: 3}), v9flow(header{seq: 2})}, 0,
			map[string]uint64{EventLate: 1}, nil, 6},
		{"a replay is dropped", [][]byte{v9flow(header{seq: 1}), v9flow(header{seq: 2}), v9flow(header{seq: 1}), v9flow(header{seq: 2})}, 0,
			nil, map[string]uint64{string(ReasonReplayed): 2}, 4},
		{"a restart is no loss", [][]byte{v9flow(header{seq: 90_000}), v9(header{seq: 1, at: epoch.Add(9 * second), uptime: 5000}, tmpl(9), flows(2, 5000))}, 0,
			map[string]uint64{EventRestart: 1}, nil, 4},
		{"IPFIX restarts too, which the third datagram proves", [][]byte{v10flow(header{seq: 90_000}), v10flow(header{seq: 0, at: epoch.Add(second)}),
			v10flow(header{seq: 2, at: epoch.Add(second)}), v10flow(header{seq: 4, at: epoch.Add(second)}), v10flow(header{seq: 8, at: epoch.Add(second)})}, 2,
			map[string]uint64{EventLate: 2, EventRestart: 1}, nil, 10},
		{"numbers that begin anew while the exporter runs on", [][]byte{v9flow(header{seq: 90_000}), v9flow(header{seq: 1, at: epoch.Add(second), uptime: hour + 1000}),
			v9flow(header{seq: 2, at: epoch.Add(second), uptime: hour + 1000}), v9flow(header{seq: 3, at: epoch.Add(second), uptime: hour + 1000}),
			v9flow(header{seq: 5, at: epoch.Add(second), uptime: hour + 1000})}, 1,
			map[string]uint64{EventLate: 2, EventRestart: 1}, nil, 10},
		{"a jump ahead is no loss", [][]byte{v9flow(header{seq: 1}), v9flow(header{seq: 1 << 30})}, 0,
			map[string]uint64{EventSequenceJump: 1}, nil, 4},
		{"after a set without template nothing is known in IPFIX",
			[][]byte{v10flow(header{seq: 5}), ipfix10(header{seq: 7}, set(999, u32(1, 2))), v10flow(header{seq: 77}), v10flow(header{seq: 80})}, 1,
			nil, map[string]uint64{string(ReasonNoTemplate): 1}, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, func(c *Configuration) { c.DefaultSamplingRate = 1 })
			b.now = epoch.Add(4 * second)
			b.take(router, c.datagrams...)
			q := b.only()
			b.want("lost", q.Lost, c.lost)
			b.want("records", q.Records, c.records)
			b.want("events", q.Events, orEmpty(c.events))
			b.want("drops", q.Drops, orEmpty(c.drops))
		})
	}
}

func orEmpty(m map[string]uint64) map[string]uint64 {
	if m == nil {
		return map[string]uint64{}
	}
	return m
}

func TestLossRatioIsInTheUnitsOfTheSequence(t *testing.T) {
	b := newBench(t, nil)
	b.take(router, v9(header{seq: 1}, tmpl(9), flows(5, hour)), v9(header{seq: 4}, flows(5, hour)))
	b.want("loss ratio", b.only().LossRatio, 0.5) // 2 of 4 packets
}

func TestRestartForgetsTemplates(t *testing.T) {
	b := newBench(t, nil)
	b.take(router, v9(header{seq: 900}, tmpl(9), flows(1, hour)))
	got := b.take(router, v9(header{seq: 1, at: epoch.Add(10 * time.Second), uptime: 3000}, flows(1, hour)))
	b.want("records", len(got), 0)
	b.want("drops", b.only().Drops, map[string]uint64{string(ReasonNoTemplate): 1})
}

// TestOneForgedDatagramClearsNoTemplates: an attacker who knows address, port and domain can put one between the
// exporter's own.
func TestOneForgedDatagramClearsNoTemplates(t *testing.T) {
	soon := epoch.Add(time.Second)
	for _, c := range []struct {
		name   string
		forged []byte
	}{
		{"v9, a number far back", v9(header{seq: 5_000_000 - 1<<21, at: soon}, set(999, u32(1)))},
		{"v9, a number back, later", v9(header{seq: 4_000_000, at: soon}, set(999, u32(1)))},
		{"v9, a number ahead, later", v9(header{seq: 5_000_500, at: soon}, set(999, u32(1)))},
		{"IPFIX, a number far back", ipfix10(header{seq: 5_000_000 - 1<<21, at: soon}, set(999, u32(1)))},
		{"IPFIX, a number back, later", ipfix10(header{seq: 4_000_000, at: soon}, set(999, u32(1)))},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, nil)
			datagram, version := v9, uint16(9)
			if c.forged[1] == 10 {
				datagram, version = ipfix10, 10
			}
			b.take(router, datagram(header{seq: 5_000_000}, tmpl(version), flows(1, hour)), c.forged)
			for i := range uint32(600) {
				h := header{seq: 5_000_001 + i, at: epoch.Add(2 * time.Second), uptime: hour + 2000}
				if got := b.take(router, datagram(h, flows(1, h.uptime))); len(got) != 1 {
					t.Fatalf("datagram %d after it: %d records, want 1", i+1, len(got))
				}
			}
			if q := b.only(); q.LossRatio > 0.01 {
				t.Errorf("lost %d (%.2g), want no more than the forged one can hide", q.Lost, q.LossRatio)
			}
		})
	}
}

func TestProcessesOnOneRouterDoNotDisturbEachOther(t *testing.T) {
	b := newBench(t, nil)
	other := netip.AddrPortFrom(router.Addr(), 5000)
	for i := range uint32(5) {
		b.take(router, v9(header{seq: 1 + i}, tmpl(9), flows(1, hour)))
		b.take(other, v9(header{seq: 7000 + i, uptime: 50_000}, tmpl(9), flows(1, 50_000)))
	}
	q := b.only()
	b.want("records", q.Records, uint64(10))
	b.want("lost", q.Lost, uint64(0))
	b.want("events", q.Events, map[string]uint64{})
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

func TestRecordsFarFromNowAreDropped(t *testing.T) {
	for _, c := range []struct {
		name string
		at   time.Time
		want string
	}{
		{"a clock two days ahead", epoch.Add(48 * time.Hour), string(ReasonTime)},
		{"a clock of 1970", time.Unix(5000, 0), string(ReasonTime)},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, nil)
			got := b.take(router, v9(header{seq: 1, at: c.at}, tmpl(9), flows(3, hour)))
			b.want("records", len(got), 0)
			b.want("drops", b.only().Drops, map[string]uint64{c.want: 3})
		})
	}
}

func TestRecordsThatEndBeforeTheyStartAreDropped(t *testing.T) {
	b := newBench(t, nil)
	b.take(router, v9(header{seq: 1}, tmpl(9), set(256, u32(1, 2, 1500, hour-1000, hour-2000, 7))))
	b.want("drops", b.only().Drops, map[string]uint64{string(ReasonNegative): 1})
}

// sampler announces 1:rate in v9 options, for an interface or, with 0, for all.
func sampler(iface, rate uint32) []byte {
	scope := uint16(1)
	if iface != 0 {
		scope = 2
	}
	return append(set(1, u16(400, 4, 4, scope, 4, 34, 4)), set(400, u32(iface, rate))...)
}

func TestSamplingRate(t *testing.T) {
	f := func(sets ...[]byte) []byte { return v9(header{seq: 1}, append(sets, tmpl(9), flows(1, hour))...) }
	for _, c := range []struct {
		name   string
		change func(*Configuration)
		d      []byte
		want   uint64
	}{
		{"never said is unknown", nil, f(), 0},
		{"never said, with a default", func(c *Configuration) { c.DefaultSamplingRate = 1 }, f(), 1},
		{"said in options", func(c *Configuration) { c.DefaultSamplingRate = 1 }, f(sampler(0, 100)), 100},
		{"said for the flow's interface", nil, f(sampler(7, 50)), 50},
		{"said for another interface, and only there", nil, f(sampler(8, 50)), 50},
		{"its interface goes before the rest", nil, f(sampler(0, 100), sampler(7, 50)), 50},
		{"a rate that no router samples at is not believed", func(c *Configuration) { c.DefaultSamplingRate = 1 }, f(sampler(0, 1<<32-1)), 0},
		{"two other interfaces that differ", nil, f(sampler(8, 50), sampler(9, 60)), 0},
		{"the operator knows better", func(c *Configuration) {
			c.SamplingRate = map[netip.Addr]uint64{router.Addr(): 10}
		}, f(sampler(0, 100)), 10},
		{"said in the header of v5", nil, v5(header{seq: 1}, 0x4064, 1), 100},
		{"not said in the header of v5", nil, v5(header{seq: 1}, 0, 1), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, c.change)
			got := b.take(router, c.d)
			if len(got) != 1 {
				t.Fatalf("%d records, want 1", len(got))
			}
			b.want("rate", got[0].SamplingRate, c.want)
		})
	}
}

func TestSamplingChangesAreCounted(t *testing.T) {
	b := newBench(t, nil)
	b.take(router, v9(header{seq: 1}, sampler(0, 100)), v9(header{seq: 2}, sampler(0, 100)), v9(header{seq: 3}, sampler(0, 200)))
	b.want("events", b.only().Events, map[string]uint64{EventSamplingChange: 1})
	b.want("rate", b.only().SamplingRate, uint64(200))
}

func TestRandomSourcesAreBounded(t *testing.T) {
	b := newBench(t, func(c *Configuration) { c.MaxSessions = 50 })
	for i := range 500 {
		from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), uint16(i))
		b.take(from, v9(header{seq: 1}, tmpl(9), flows(1, hour)))
		b.take(from, []byte{0, 9, 1})
	}
	if n := b.sessions(); n > 50 {
		t.Errorf("%d sessions kept, want at most 50", n)
	}
	all := b.table.Quality(b.now)
	if most := 2*50 + 1; len(all) > most { // for each, what parsed and what did not, and nobody
		t.Errorf("%d rows listed, want at most %d", len(all), most)
	}
	for _, h := range b.table.Hours() {
		if h.Exporter.IsUnspecified() {
			t.Errorf("%+v: those beyond the limit have hours, as if they were in good health", h)
		}
	}
	if all[0].Drops[string(ReasonTooMany)] == 0 {
		t.Errorf("%+v: want sources beyond the limit to be counted under 0.0.0.0", all[0])
	}
}

func TestRecordsPerSecondIsOverTheLastMinute(t *testing.T) {
	b := newBench(t, nil)
	for i := range uint32(120) {
		b.now = epoch.Add(time.Duration(i) * time.Second)
		b.take(router, v9(header{seq: i, at: b.now, uptime: hour + i*1000}, tmpl(9), flows(6, hour+i*1000)))
	}
	b.want("rate", b.only().RecordsPerSecond, 6.0)
	b.now = b.now.Add(30 * time.Second)
	b.want("rate half a minute later", b.only().RecordsPerSecond, 3.0)
}

// FuzzSessions runs any three datagrams through one table: nothing panics and
// nothing implausible comes out.
func FuzzSessions(f *testing.F) {
	f.Add(v9(header{seq: 1}, tmpl(9), flows(1, hour)), v9(header{seq: 9}, flows(2, hour)), v5(header{seq: 1}, 100, 2))
	f.Add(ipfix10(header{seq: 1}, tmpl(10), flows(1, hour)), v9(header{seq: 9}, sampler(7, 5)), []byte{})
	paths, err := filepath.Glob(filepath.Join("..", "decode", "testdata", "softflowd", "*.bin"))
	if err != nil {
		f.Fatal(err)
	}
	for _, p := range paths {
		d, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(d, d, d[:len(d)/2])
	}
	f.Fuzz(func(t *testing.T, a, b, c []byte) {
		table := NewTable(DefaultConfiguration(), nil, workers)
		for _, d := range [][]byte{a, b, c, a} {
			for _, r := range table.Take([]Datagram{{From: router, Payload: d}}, epoch, nil) {
				if err := plausible(r); err != nil {
					t.Error(err)
				}
			}
		}
		table.Quality(epoch)
	})
}

func plausible(r flowrecord.Record) error {
	p := r.ToProto()
	if _, err := flowrecord.FromProto(p); err != nil {
		return fmt.Errorf("%+v: %w", r, err)
	}
	if r.Start.Before(epoch.Add(-24*time.Hour)) || r.End.After(epoch.Add(10*time.Minute)) {
		return fmt.Errorf("%+v: outside of the limits on time", r)
	}
	return nil
}
