package exporter

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/flowrecord"
)

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
