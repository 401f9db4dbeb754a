package exporter

import (
	"net/netip"
	"runtime"
	"testing"

	"github.com/millrace/millrace/collectors/flow/decode"
	"github.com/millrace/millrace/internal/flowrecord"
)

func address(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 4000)
}

// TestHeadersAloneChangeNothing: 1,100 made-up domains of one exporter, or of another, leave no trace but a count. One
// used to be refused for a domain without template, and a table full of them hid later exporters.
func TestHeadersAloneChangeNothing(t *testing.T) {
	b := newBench(t, nil)
	b.take(router, v9(header{seq: 1}, sampler(0, 1), tmpl(9), flows(1, hour)))
	b.table.Hours()
	attacker := netip.MustParseAddrPort("127.53.9.9:4000")
	for i := range uint32(1100) {
		for _, from := range []netip.AddrPort{router, attacker} {
			b.take(from, v9(header{seq: i + 99, domain: i}), ipfix10(header{seq: i, domain: i}))
		}
	}
	b.want("hours that changed", b.table.Hours(), []Hour(nil))
	if n := b.sessions(); n != 1 {
		t.Errorf("%d sessions, want the real one", n)
	}
	newcomer := address(1)
	b.take(router, v9(header{seq: 2}, flows(1, hour)))
	b.take(newcomer, v9(header{seq: 1}, tmpl(9), flows(1, hour)))
	got := b.table.Hours()
	if len(got) != 2 || got[0].Exporter != newcomer.Addr() || got[1].Exporter != router.Addr() || got[1].Lost != 0 {
		t.Errorf("%+v: want hours of the newcomer and of the real exporter, without loss", got)
	}
}

// TestInventedDomainsShareARow: they need no more than a set of unknown content, so their number is bounded, and so is
// what they hide.
func TestInventedDomainsShareARow(t *testing.T) {
	b := newBench(t, nil)
	for i := range uint32(1100) {
		b.take(router, v9(header{seq: 1, domain: i}, set(999, u32(1))))
	}
	if n := len(b.table.Quality(b.now)); n > maxDomains+1 {
		t.Errorf("%d rows, want at most %d", n, maxDomains+1)
	}
	var sets uint64
	for _, h := range b.table.Hours() {
		sets += h.NoTemplate
	}
	b.want("sets without template, in all rows", sets, uint64(1100))
	b.take(address(1), v9(header{seq: 1}, tmpl(9), flows(1, hour)))
	if got := b.table.Hours(); len(got) != 1 || got[0].Exporter != address(1).Addr() {
		t.Errorf("%+v: want an hour of the exporter that came last", got)
	}
}

func TestOnlyListedExportersAreHeard(t *testing.T) {
	b := newBench(t, nil)
	b.table.listed = func(a netip.Addr) bool { return a == router.Addr() }
	d := v9(header{seq: 1}, tmpl(9), flows(1, hour))
	b.want("records of a stranger", len(b.take(address(1), d, []byte{})), 0)
	b.want("records of the listed one", len(b.take(router, d)), 1)
	all := b.table.Quality(b.now)
	if len(all) != 2 || all[0].Exporter != netip.IPv4Unspecified() || all[0].Drops[string(ReasonUnlisted)] != 2 {
		t.Errorf("%+v: want two datagrams counted under 0.0.0.0", all)
	}
	if n := b.sessions(); n != 1 {
		t.Errorf("%d sessions, want that of the listed one", n)
	}
	if from, n := b.table.Stranger(); from != address(1).Addr() || n != 2 {
		t.Errorf("stranger %v of %d datagrams, want %v of 2", from, n, address(1).Addr())
	}
}

// TestAFloodTakesNoSessionOfOthers: an exporter keeps its templates, which come once, through ten times as many
// sessions as there may be: of its own address, of one other, and of as many others.
func TestAFloodTakesNoSessionOfOthers(t *testing.T) {
	other := func(i int) netip.AddrPort { return netip.AddrPortFrom(address(1).Addr(), uint16(i)) }
	for _, c := range []struct {
		name string
		from func(i int) netip.AddrPort
		rest []byte // of each datagram, behind the template
	}{
		{"one other address", other, nil},
		{"one other address that sends flows too", other, flows(1, hour)},
		{"many addresses", address, nil},
		{"the exporter's own address", func(i int) netip.AddrPort { return netip.AddrPortFrom(router.Addr(), uint16(5000+i)) }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, func(c *Configuration) { c.MaxSessions = 50 })
			b.take(router, v9(header{seq: 0}, tmpl(9), flows(1, hour)))
			for i := range 500 {
				b.take(c.from(i), v9(header{seq: 1, domain: uint32(i)}, tmpl(9), c.rest))
				if i%100 == 0 {
					b.want("records of the real exporter", len(b.take(router, v9(header{seq: uint32(1 + i/100)}, flows(1, hour)))), 1)
				}
			}
			if n := b.sessions(); n > 50 {
				t.Errorf("%d sessions, want at most 50", n)
			}
		})
	}
}

// large is a template set of 20 kB: few templates of many fields, or as many as fit of one field.
func large(id, fields int) []byte {
	var all []byte
	for i := 0; len(all) < 20_000; i++ {
		all = append(all, u16(uint16(256+(id+i)%1000), uint16(fields))...)
		for range fields {
			all = append(all, u16(1, 4)...)
		}
	}
	return set(0, all)
}

// TestTemplateMemoryIsBounded attacks the bound with templates of every shape and with samplers, from one address and
// from many, and measures the heap.
func TestTemplateMemoryIsBounded(t *testing.T) {
	const limit = 4 << 20
	options := func(i int) []byte {
		var records []byte
		for n := range uint32(4500) {
			records = append(records, u32(n+1+uint32(i)*4500, 100)...)
		}
		return append(set(1, u16(400, 4, 4, 2, 4, 34, 4)), set(400, records)...)
	}
	for _, c := range []struct {
		name string
		sets func(i int) []byte
		from func(i int) netip.AddrPort
	}{
		{"many fields, one address", func(i int) []byte { return large(i, 250) }, func(int) netip.AddrPort { return router }},
		{"one field, many addresses", func(i int) []byte { return large(i, 1) }, address},
		{"many fields, many addresses", func(i int) []byte { return large(i, 200) }, address},
		{"fields of length zero, many addresses", func(i int) []byte { return set(0, append(u16(uint16(1000+i), 15_001, 1, 4), make([]byte, 60_000)...)) }, address},
		{"samplers, many addresses", options, address},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, func(cfg *Configuration) { cfg.TemplateMemory, cfg.MaxSessions = limit, 300 })
			victim := netip.MustParseAddrPort("198.51.100.1:4000")
			b.take(victim, v9(header{seq: 0}, tmpl(9), flows(1, hour)))
			before := heap()
			for i := range 120 {
				b.take(c.from(i), v9(header{seq: uint32(i), domain: uint32(i % 40)}, c.sets(i), tmpl(9), flows(1, hour)))
				if b.table.memory.Load() > limit {
					t.Fatalf("%d bytes by own account after %d datagrams, want at most %d", b.table.memory.Load(), i, limit)
				}
			}
			grown := heap() - before
			t.Logf("%d bytes by own account, %d on the heap", b.table.memory.Load(), grown)
			// Beside templates and samplers: 300 sessions that remember few datagrams, and rows of quality.
			if most := uint64(limit + 300*4096); grown > most {
				t.Errorf("the heap grew by %d bytes, want at most %d", grown, most)
			}
			b.want("records of the exporter beside it", len(b.take(victim, v9(header{seq: 1}, flows(1, hour)))), 1)
			runtime.KeepAlive(b)
		})
	}
}

// TestSessionsAndRowsAreWithinTheirMemory fills every session and every row of exporters, and measures the heap.
func TestSessionsAndRowsAreWithinTheirMemory(t *testing.T) {
	const exporters = 8
	b := newBench(t, func(cfg *Configuration) { cfg.TemplateMemory, cfg.MaxSessions = 1<<20, exporters })
	reasons := []decode.Reason{
		decode.ReasonShort, decode.ReasonVersion, decode.ReasonTruncated, decode.ReasonOversized, decode.ReasonEmpty, decode.ReasonMalformed, decode.ReasonPanic,
		ReasonReplayed, ReasonNoTemplate, ReasonNotFlow, ReasonEvent, ReasonBadTemplate, ReasonTime, ReasonNegative, ReasonRateLimited,
	}
	events := []string{
		EventRestart, EventClockJump, EventSamplingChange, EventLate, EventSamplingRefused, EventSequenceJump, EventEvicted, EventTemplateExpired, EventWithdrawal,
		EventCounterSample,
	}
	before := heap()
	for i := range exporters {
		p := b.table.partOf(address(i).Addr())
		p.mu.Lock()
		for domain := range uint32(maxDomains) {
			s := p.session(sessionKey{address(i), flowrecord.IPFIX, domain})
			for n := range uint64(remembered) {
				s.sequence.remember(n)
			}
		}
		p.mu.Unlock()
		b.take(address(i), []byte{1})
	}
	rows := 0
	for _, p := range b.table.parts {
		rows += len(p.qualities)
		for _, q := range p.qualities {
			for _, reason := range reasons {
				q.drop(reason, 1)
			}
			for _, event := range events {
				q.event(event)
			}
		}
	}
	grown, most := heap()-before, uint64(b.table.cfg.Memory()-1<<20)
	t.Logf("%d sessions and %d rows take %d bytes", b.sessions(), rows, grown)
	if rows != exporters*maxRows {
		t.Errorf("%d rows, want %d", rows, exporters*maxRows)
	}
	if grown > most {
		t.Errorf("the heap grew by %d bytes, want at most %d", grown, most)
	}
	runtime.KeepAlive(b)
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
