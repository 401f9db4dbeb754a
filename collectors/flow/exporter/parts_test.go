package exporter

import (
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millrace/millrace/collectors/flow/worker"
)

// TestPartsAreOneTable: whatever comes, within the bounds and beyond them, a table of several parts says what one of a
// single part says.
func TestPartsAreOneTable(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Configuration)
	}{
		{"within the bounds", func(*Configuration) {}},
		{"more sessions and exporters than there may be", func(c *Configuration) { c.MaxSessions = 20 }},
		{"more templates than there may be", func(c *Configuration) { c.TemplateMemory = 4096 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := DefaultConfiguration()
			c.change(&cfg)
			listed := func(a netip.Addr) bool { return a.As4()[3]%10 != 0 }
			one, many := NewTable(cfg, listed, 1), NewTable(cfg, listed, 5)
			random := rand.New(rand.NewPCG(3, 4))
			now := epoch
			for range 2000 {
				now = now.Add(time.Millisecond)
				i := random.IntN(50)
				from := netip.AddrPortFrom(address(i).Addr(), uint16(4000+random.IntN(2)))
				sets := [][]byte{flows(1+random.IntN(3), hour)}
				if random.IntN(3) == 0 {
					sets = append([][]byte{tmpl(9)}, append(rates(9), sets...)...)
				}
				d := v9(header{seq: uint32(random.IntN(1000)), domain: uint32(random.IntN(3)), at: now}, sets...)
				if random.IntN(20) == 0 {
					d = d[:random.IntN(len(d))]
				}
				in := []Datagram{{From: from, Payload: d}}
				got, want := many.Take(in, now, nil), one.Take(in, now, nil)
				same(t, "records", got, want)
			}
			same(t, "quality", many.Quality(now), one.Quality(now))
			same(t, "hours", many.Hours(), one.Hours())
			same(t, "state", many.State(), one.State())
			gotAddr, got := many.Stranger()
			wantAddr, want := one.Stranger()
			same(t, "stranger", gotAddr, wantAddr)
			same(t, "datagrams of strangers", got, want)
			again := NewTable(cfg, listed, 2)
			again.Restore(many.State(), now)
			same(t, "state, taken over", again.State(), one.State())
		})
	}
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(got, want, cmpopts.EquateComparable(netip.Addr{}, netip.AddrPort{})); d != "" {
		t.Fatalf("%s: -many +one\n%s", what, d)
	}
}

// TestWorkersStayWithinTheBoundsTogether: each floods the table with new sources and templates, while others read it
// and tell it of sessions elsewhere.
func TestWorkersStayWithinTheBoundsTogether(t *testing.T) {
	const workers = 4
	cfg := DefaultConfiguration()
	cfg.MaxSessions, cfg.TemplateMemory = 30, 8192
	table := NewTable(cfg, nil, workers)
	heard := newBench(t, nil)
	heard.take(router, v9(header{seq: 1}, tmpl(9), flows(1, hour)))
	kept := heard.table.State().Sessions[0]
	var taking, reading sync.WaitGroup
	for w := range workers {
		taking.Go(func() {
			for i := range 3000 {
				from := address(i)
				if worker.Of(from.Addr(), workers) == w {
					table.Take([]Datagram{{From: from, Payload: v9(header{seq: 1}, tmpl(9), flows(1, hour))}, {From: from, Payload: []byte{0, 9}}}, epoch, nil)
				}
			}
		})
	}
	done := make(chan struct{})
	reading.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			moving := kept
			moving.From = address(i % 3000)
			table.Hear(moving)
			table.Hours()
			table.Quality(epoch)
			table.Stranger()
			table.Restore(table.State(), epoch)
		}
	})
	taking.Wait()
	close(done)
	reading.Wait()
	sessions, exporters, bytes := 0, 0, 0
	for _, p := range table.parts {
		sessions, exporters = sessions+len(p.sessions), exporters+len(p.domains)
		for _, n := range p.memory {
			bytes += n
		}
	}
	if sessions > cfg.MaxSessions || exporters > cfg.MaxSessions || bytes > cfg.TemplateMemory {
		t.Errorf("%d sessions, %d exporters, %d bytes; want at most %d, %d, %d", sessions, exporters, bytes, cfg.MaxSessions, cfg.MaxSessions, cfg.TemplateMemory)
	}
	if table.sessions.n.Load() != int64(sessions) || table.exporters.n.Load() != int64(exporters) || table.memory.Load() != int64(bytes) {
		t.Errorf("counted are %d sessions, %d exporters, %d bytes; there are %d, %d, %d",
			table.sessions.n.Load(), table.exporters.n.Load(), table.memory.Load(), sessions, exporters, bytes)
	}
}
