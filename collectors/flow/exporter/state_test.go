package exporter

import (
	"encoding/json"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millrace/millrace/internal/flowrecord"
)

// restarted is another collector, some time later, that has what the first one kept in its file.
func (b *bench) restarted(after time.Duration, change func(*Configuration), listed func(netip.Addr) bool) *bench {
	b.t.Helper()
	raw, err := json.Marshal(b.table.State())
	if err != nil {
		b.t.Fatal(err)
	}
	var kept State
	if err := json.Unmarshal(raw, &kept); err != nil {
		b.t.Fatal(err)
	}
	next := newBench(b.t, change)
	next.table.listed = listed
	next.now = b.now.Add(after)
	next.table.Restore(kept, next.now)
	return next
}

// rates announces, in options of scope System: 1 in 500 for all.
func rates(version uint16) [][]byte {
	if version == 10 {
		return [][]byte{set(3, u16(257, 2, 1, 144, 4, 34, 4)), set(257, u32(1, 500))}
	}
	return [][]byte{set(1, u16(257, 4, 4, 1, 4, 34, 4)), set(257, u32(1, 500))}
}

func datagram(version uint16, h header, sets ...[]byte) []byte {
	if version == 10 {
		return ipfix10(h, sets...)
	}
	return v9(h, sets...)
}

// TestARestartOfTheCollectorLosesNoRecords: those that come after it are the same as without it.
func TestARestartOfTheCollectorLosesNoRecords(t *testing.T) {
	for _, version := range []uint16{9, 10} {
		first := newBench(t, nil)
		first.take(router, datagram(version, header{seq: 1}, append(rates(version), tmpl(version), flows(1, hour))...))
		second := first.restarted(10*time.Second, nil, nil)
		second.want("what is kept", second.table.State(), first.table.State())
		second.want("templates", second.only().Templates, 2)

		later := header{seq: 5, at: epoch.Add(10 * time.Second), uptime: hour + 10_000}
		first.now = second.now
		got := second.take(router, datagram(version, later, flows(3, later.uptime)))
		second.want("records", got, first.take(router, datagram(version, later, flows(3, later.uptime))))
		if len(got) != 3 || got[0].SamplingRate != 500 || got[0].Source != map[uint16]flowrecord.Source{9: flowrecord.NetFlowV9, 10: flowrecord.IPFIX}[version] {
			t.Errorf("version %d: records are %+v, want three with rate 500", version, got)
		}
		q := second.only()
		second.want("events", q.Events, map[string]uint64{})
		second.want("lost, where nobody counted", q.Lost, uint64(0))
	}
}

// TestAnExporterThatRestartedMeanwhile has other templates, and says so in v9's header.
func TestAnExporterThatRestartedMeanwhile(t *testing.T) {
	first := newBench(t, nil)
	first.take(router, v9(header{seq: 100}, append(rates(9), tmpl(9), flows(1, hour))...))
	second := first.restarted(time.Minute, nil, nil)
	h := header{seq: 101, at: second.now, uptime: 5000}
	second.want("records", len(second.take(router, v9(h, flows(1, h.uptime)))), 0)
	q := second.only()
	second.want("restarts", q.Events[EventRestart], uint64(1))
	second.want("sets without template", q.Drops[string(ReasonNoTemplate)], uint64(1))
	h.seq++
	got := second.take(router, v9(h, tmpl(9), flows(1, h.uptime)))
	if len(got) != 1 || got[0].SamplingRate != 0 {
		t.Errorf("records are %+v, want one without a rate", got)
	}
}

func TestWhatIsNotTakenOver(t *testing.T) {
	other := netip.MustParseAddrPort("192.0.2.2:4000")
	for _, c := range []struct {
		name   string
		after  time.Duration
		change func(*Configuration)
		listed func(netip.Addr) bool
		want   []netip.AddrPort
	}{
		{"all within the lifetime", time.Hour, nil, nil, []netip.AddrPort{router, other}},
		{"a template's lifetime is over", 2 * time.Hour, nil, nil, nil},
		{"an exporter left the inventory", time.Minute, nil, func(a netip.Addr) bool { return a == other.Addr() }, []netip.AddrPort{other}},
		{"any is heard", time.Minute, func(c *Configuration) { c.AcceptUnlisted = true }, func(netip.Addr) bool { return false }, []netip.AddrPort{router, other}},
		{"fewer sessions are tracked", time.Minute, func(c *Configuration) { c.MaxSessions = 1 }, nil, []netip.AddrPort{router}},
	} {
		first := newBench(t, nil)
		for _, from := range []netip.AddrPort{other, router} {
			first.take(from, v9(header{seq: 1}, tmpl(9), flows(1, hour)))
		}
		var got []netip.AddrPort
		for _, s := range first.restarted(c.after, c.change, c.listed).table.State().Sessions {
			got = append(got, s.From)
		}
		if diff := cmp.Diff(got, c.want, cmpopts.EquateComparable(netip.AddrPort{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: sessions -got +want\n%s", c.name, diff)
		}
	}
}

// TestAStateOfAnything neither panics nor goes beyond the bounds that hold for datagrams.
func TestAStateOfAnything(t *testing.T) {
	first := newBench(t, nil)
	first.take(router, v9(header{seq: 1}, tmpl(9)))
	good := first.table.State().Sessions[0]
	var many State
	for i := range 3000 {
		s := good
		s.From = netip.AddrPortFrom(router.Addr(), uint16(i))
		s.Samplers = map[uint64]uint64{0: 1}
		for id := range uint64(maxSamplers + 10) {
			s.Samplers[id+1] = 2
		}
		many.Sessions = append(many.Sessions, s, SessionState{From: s.From, LastSeen: epoch})
	}
	many.Sessions = append(many.Sessions, SessionState{})
	b := newBench(t, func(c *Configuration) { c.TemplateMemory = 4 << 20 })
	b.table.Restore(many, epoch)
	if n := b.sessions(); n > b.table.cfg.MaxSessions || b.table.memory.Load() > 4<<20 {
		t.Errorf("%d sessions with %d bytes", n, b.table.memory.Load())
	}
}
