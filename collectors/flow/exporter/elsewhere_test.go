package exporter

import (
	"net/netip"
	"testing"
	"time"
)

// tells gives another table what this one knows.
func (b *bench) tells(other *bench) {
	for _, s := range b.table.State().Sessions {
		other.table.Hear(s)
	}
}

// An exporter that moves is understood at once, and when it comes back: what was sent elsewhere meanwhile is no loss.
func TestAnExporterThatMoves(t *testing.T) {
	for _, version := range []uint16{9, 10} {
		a, b := newBench(t, nil), newBench(t, nil)
		a.take(router, datagram(version, header{seq: 1}, append(rates(version), tmpl(version), flows(1, hour))...))
		a.tells(b)
		at := func(after time.Duration, seq uint32) header {
			a.now, b.now = epoch.Add(after), epoch.Add(after)
			return header{seq: seq, at: a.now, uptime: hour + uint32(after.Milliseconds())}
		}
		h := at(10*time.Second, 50)
		if got := b.take(router, datagram(version, h, flows(3, h.uptime))); len(got) != 3 || got[0].SamplingRate != 500 {
			t.Errorf("version %d: the other collector has %+v, want three records with rate 500", version, got)
		}
		b.want("lost at the other", b.only().Lost, uint64(0))
		b.tells(a)
		h = at(20*time.Second, 90)
		if got := a.take(router, datagram(version, h, flows(2, h.uptime))); len(got) != 2 || got[0].SamplingRate != 500 {
			t.Errorf("version %d: back again %+v, want two records with rate 500", version, got)
		}
		a.want("lost, of what the other collector has", a.only().Lost, uint64(0))
	}
}

// An exporter that sends to two collectors moves to neither: each goes on counting what it lacks.
func TestAnExporterOfTwoCollectors(t *testing.T) {
	a, b := newBench(t, nil), newBench(t, nil)
	for _, one := range []*bench{a, b} {
		one.take(router, v9(header{seq: 1}, tmpl(9), flows(1, hour)))
	}
	b.now = b.now.Add(aside - time.Millisecond)
	b.take(router, v9(header{seq: 2}, flows(1, hour)))
	b.tells(a)
	if n := a.elsewhere(); n != 0 {
		t.Errorf("%d sessions have moved", n)
	}
	a.take(router, v9(header{seq: 4}, flows(1, hour)))
	a.want("lost", a.only().Lost, uint64(2))
}

// What is heard is bounded, and gives way to what is here.
func TestWhatIsHeardIsBounded(t *testing.T) {
	from := newBench(t, nil)
	from.take(router, v9(header{seq: 1}, tmpl(9), flows(1, hour)))
	kept := from.table.State().Sessions[0]
	for _, c := range []struct {
		name   string
		change func(*Configuration)
		listed func(netip.Addr) bool
		late   time.Duration
		want   int
	}{
		{"it is understood", nil, nil, 0, 1},
		{"the inventory does not have it", nil, func(netip.Addr) bool { return false }, 0, 0},
		{"there is room for no session", func(c *Configuration) { c.MaxSessions = 0 }, nil, 0, 0},
		{"there is room for no template", func(c *Configuration) { c.TemplateMemory = kept.bytes() - 1 }, nil, 0, 0},
		{"its templates' lifetime is over", nil, nil, 2 * time.Hour, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, c.change)
			b.table.listed = c.listed
			b.table.Hear(kept)
			b.table.Hear(kept) // which is once
			if got := b.table.heard.Load(); got != 0 && got != int64(kept.bytes()) {
				t.Errorf("%d bytes are counted, want %d", got, kept.bytes())
			}
			key := kept.key()
			p := b.table.partOf(key.from.Addr())
			p.mu.Lock()
			p.moved(key, b.now.Add(c.late))
			p.mu.Unlock()
			if n := b.sessions(); n != c.want {
				t.Errorf("%d sessions, want %d", n, c.want)
			}
			if b.table.heard.Load() != 0 && c.want == 1 {
				t.Errorf("%d bytes are counted of nothing", b.table.heard.Load())
			}
		})
	}
	b := newBench(t, func(c *Configuration) { c.TemplateMemory = 2 * kept.bytes() })
	b.table.Hear(kept)
	b.take(netip.MustParseAddrPort("192.0.2.7:4000"), v9(header{seq: 1}, append(rates(9), tmpl(9))...))
	if n := b.elsewhere(); n != 0 {
		t.Errorf("%d sessions of others are kept, and there is no room for what is here", n)
	}
}

// Sessions of exporters that have restarted since, by another port, give way to those that are seen later.
func TestWhatIsHeardLaterIsKept(t *testing.T) {
	from := newBench(t, nil)
	from.take(router, v9(header{seq: 1}, tmpl(9), flows(1, hour)))
	of := func(port uint16, at time.Time) SessionState {
		s := from.table.State().Sessions[0]
		s.From, s.LastSeen = netip.AddrPortFrom(router.Addr(), port), at
		return s
	}
	one := of(1, epoch).bytes()
	for name, bound := range map[string]func(*Configuration){
		"by number": func(c *Configuration) { c.MaxSessions = 3 },
		"by memory": func(c *Configuration) { c.TemplateMemory = 3*one + one/2 },
	} {
		b := newBench(t, bound)
		for i := range 5 {
			b.table.Hear(of(uint16(1000+i), epoch.Add(time.Duration(i)*time.Minute)))
		}
		b.table.Hear(of(999, epoch)) // which is older than all that are kept
		for port, want := range map[uint16]bool{999: false, 1000: false, 1001: false, 1002: true, 1003: true, 1004: true} {
			if _, kept := b.table.partOf(router.Addr()).elsewhere[of(port, epoch).key()]; kept != want {
				t.Errorf("%s: the session of port %d is kept: %t", name, port, kept)
			}
		}
		if b.table.heard.Load() != int64(3*one) {
			t.Errorf("%s: %d bytes are counted of three sessions of %d", name, b.table.heard.Load(), one)
		}
	}
}
