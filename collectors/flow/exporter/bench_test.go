package exporter

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millrace/millrace/internal/flowrecord"
	"github.com/millrace/millrace/internal/testkit/netorder"
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

var u16, u32 = netorder.U16, netorder.U32

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
