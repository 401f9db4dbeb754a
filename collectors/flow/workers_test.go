package flow

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/collectors/flow/worker"
	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/ports"
)

const fourWorkers = 4

// withWorkers listens on addresses with four workers each.
func withWorkers(listen ...string) func(*Configuration) {
	return func(c *Configuration) { c.Workers, c.Listen = fourWorkers, listen }
}

// from is a socket of an exporter's address that sends to a listening address of the collector.
func (r *rig) from(exporter netip.Addr, i int) net.Conn {
	r.t.Helper()
	to := r.comp.Listening()[i]
	if to.Addr().IsUnspecified() {
		to = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), to.Port())
	}
	conn, err := net.DialUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(exporter, 0)), net.UDPAddrFromAddrPort(to))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { conn.Close() })
	return conn
}

func (r *rig) send(conn io.Writer, datagram []byte) {
	r.t.Helper()
	if _, err := conn.Write(datagram); err != nil {
		r.t.Fatal(err)
	}
}

// taken is how many datagrams each worker of a listening address has read.
func (r *rig) taken(i int) (all [fourWorkers]uint64) {
	for w, counts := range r.comp.counts[i] {
		all[w] = counts.datagrams.Load()
	}
	return all
}

// exporters are addresses of this host, of a third octet for each test: 127.0.n.1 and on.
func exporters(third byte, n int) (all []netip.Addr) {
	for i := range n {
		all = append(all, netip.AddrFrom4([4]byte{127, 0, third, byte(i + 1)}))
	}
	return all
}

// TestAnExporterHasOneWorker, whatever ports it sends from, and it is the one whose part of the table it has.
func TestAnExporterHasOneWorker(t *testing.T) {
	r := newRig(t, withWorkers("127.0.0.1:0", "[::1]:0", "[::]:0"))
	const sources = 40
	for i, all := range [][]netip.Addr{exporters(1, 5), {netip.IPv6Loopback()}, exporters(2, 5)} {
		var want [fourWorkers]uint64
		for _, exporter := range all {
			want[worker.Of(exporter, fourWorkers)] += sources
			for range sources {
				r.send(r.from(exporter, i), netflow9(1, v9Template, v9Record))
			}
		}
		r.records(sources)
		await.True(t, fmt.Sprintf("the workers of %s have %v datagrams", r.comp.Listening()[i], want), func() bool { return r.taken(i) == want })
	}
}

// TestTheKernelChoosesAsTheFunctionSays, for an address of each family and so many numbers of workers that no other
// choice agrees by chance.
func TestTheKernelChoosesAsTheFunctionSays(t *testing.T) {
	for n := 2; n <= 12; n++ {
		r := newRig(t, func(c *Configuration) { c.Workers = n })
		for i, exporter := range []netip.Addr{netip.MustParseAddr("127.0.7.1"), netip.IPv6Loopback()} {
			r.send(r.from(exporter, i), netflow9(1, v9Template, v9Record))
			r.records(i + 1)
			for w, counts := range r.comp.counts[i] {
				if took, want := counts.datagrams.Load() == 1, w == worker.Of(exporter, n); took != want {
					t.Errorf("worker %d of %d has the datagram of %s: %t, want %t", w, n, exporter, took, want)
				}
			}
		}
	}
}

// TestExportersAreSpreadOverWorkers: each worker has some of 64, and nothing of any is lost or taken for another's.
func TestExportersAreSpreadOverWorkers(t *testing.T) {
	r := newRig(t, withWorkers("127.0.0.1:0"))
	all := exporters(3, 64)
	var want [fourWorkers]uint64
	for _, exporter := range all {
		want[worker.Of(exporter, fourWorkers)] += 3
		conn := r.from(exporter, 0)
		for seq := range uint32(3) {
			r.send(conn, netflow9(seq, v9Template, v9Record))
		}
	}
	r.records(3 * len(all))
	if got := r.taken(0); got != want || min(got[0], got[1], got[2], got[3]) == 0 {
		t.Errorf("workers have %v datagrams, want %v, and some each", got, want)
	}
	q := r.quality().GetExporters()
	if len(q) != len(all) {
		t.Fatalf("%d exporters, want %d", len(q), len(all))
	}
	for i, e := range q {
		if e.GetExporter() != all[i].String() || e.GetRecords() != 3 || e.GetLost() != 0 || len(e.GetDrops()) > 0 || len(e.GetEvents()) > 0 {
			t.Errorf("quality is %v, want 3 records of %s, and nothing amiss", e, all[i])
		}
	}
}

// TestAnExporterIsKnownWhereverItSends: templates come to one listening address and hold at another, and a rate that is
// announced from one port holds for records from others.
func TestAnExporterIsKnownWhereverItSends(t *testing.T) {
	r := newRig(t, withWorkers("127.0.0.1:0", "127.0.0.2:0"))
	router, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 4, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer router.Close()
	send := func(i int, d []byte) {
		t.Helper()
		if _, err := router.WriteToUDPAddrPort(d, r.comp.Listening()[i]); err != nil {
			t.Fatal(err)
		}
	}
	rate := append(words(1, 18, 257, 4, 4, 1, 4, 34, 4), words(257, 12, 0, 1, 0, 500)...)
	send(0, netflow9(1, v9Template, rate, v9Record))
	r.records(1)
	send(1, netflow9(2, v9Record))
	r.records(2)
	r.send(r.from(netip.AddrFrom4([4]byte{127, 0, 4, 1}), 0), netflow9(1, v9Template, v9Record))
	for i, record := range r.records(3) {
		if record.SamplingRate != 500 {
			t.Errorf("record %d has rate %d, want the 500 that its exporter announced", i, record.SamplingRate)
		}
	}
}

// TestDropsAreCountedAtTheirWorker: one that stands still loses its exporters' datagrams, and no other's.
func TestDropsAreCountedAtTheirWorker(t *testing.T) {
	r := newRig(t, func(c *Configuration) {
		withWorkers("127.0.0.1:0")(c)
		c.ReceiveBuffer = 4096
	})
	all := exporters(5, 64)
	behind := worker.Of(all[0], fourWorkers)
	conn := r.from(all[0], 0)
	hold := &r.comp.batcher.open[behind].mu
	hold.Lock() // the reader stops at the first records, and its socket fills
	release := sync.OnceFunc(hold.Unlock)
	defer release() // so that the collector can stop if this fails
	seq := uint32(0)
	for ; seq < 200; seq++ {
		r.send(conn, netflow9(seq, v9Template, v9Record))
	}
	var want uint64
	for _, exporter := range all {
		if w := worker.Of(exporter, fourWorkers); w != behind { // each is taken before the next, so that none is lost
			want++
			r.send(r.from(exporter, 0), netflow9(1, v9Template, v9Record))
			await.True(t, "the other workers go on", func() bool {
				sum := uint64(0)
				for other, n := range r.taken(0) {
					if other != behind {
						sum += n
					}
				}
				return sum == want
			})
		}
	}
	release()
	await.True(t, "drops are counted", func() bool { // the kernel tells with the next datagram that fits
		seq++
		r.send(conn, netflow9(seq, v9Template, v9Record))
		return r.comp.counts[0][behind].drops.Load() > 0
	})
	for w, counts := range r.comp.counts[0] {
		if n := counts.drops.Load(); w != behind && n != 0 {
			t.Errorf("%d drops at worker %d, want them all at worker %d", n, w, behind)
		}
	}
	r.wantDropsAt(behind)
}

// wantDropsAt one worker, in the metric and in the answer of Quality, which also names the exporters they can have been
// of.
func (r *rig) wantDropsAt(behind int) {
	r.t.Helper()
	families, err := r.reg.Gather()
	if err != nil {
		r.t.Fatal(err)
	}
	var got []string
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "millrace_collectors_flow_socket_drops_total" && m.GetCounter().GetValue() > 0 {
				got = append(got, fmt.Sprint(m.GetLabel()))
			}
		}
	}
	if len(got) != 1 || !strings.Contains(got[0], fmt.Sprintf("%q", fmt.Sprint(behind))) || !strings.Contains(got[0], `"127.0.0.1:0"`) {
		r.t.Errorf("metrics of drops are of %v, want worker %d", got, behind)
	}
	q := r.quality()
	var sum uint64
	for w, s := range q.GetSockets() {
		sum += s.GetDrops()
		if s.GetListen() != "127.0.0.1:0" || s.GetWorker() != uint32(w) || (s.GetDrops() > 0) != (w == behind) || s.GetDatagrams() == 0 {
			r.t.Errorf("socket %d is %v, want datagrams at each, and drops at worker %d", w, s, behind)
		}
	}
	if sum != q.GetSocketDrops() {
		r.t.Errorf("%d drops in all, %d at the sockets", q.GetSocketDrops(), sum)
	}
	for _, e := range q.GetExporters() {
		if want := worker.Of(netip.MustParseAddr(e.GetExporter()), fourWorkers); e.GetWorker() != uint32(want) {
			r.t.Errorf("worker of %s is %d, want %d", e.GetExporter(), e.GetWorker(), want)
		}
	}
}

// listenOn is a collector that starts on an address, or an error.
func listenOn(t *testing.T, address string, workers int) error {
	t.Helper()
	cfg := DefaultConfiguration()
	cfg.Listen, cfg.Workers, cfg.BatchInterval = []string{address}, workers, time.Hour
	b := bus.NewMemory()
	t.Cleanup(func() { b.Close() })
	c, err := New(cfg, Dependencies{Bus: b, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err != nil {
		return err
	}
	return c.Stop(t.Context())
}

// TestAPortThatIsTakenIsRefused: sockets that share a port would take each other's datagrams, without a word.
func TestAPortThatIsTakenIsRefused(t *testing.T) {
	sharing := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var failed error
		err := c.Control(func(fd uintptr) { failed = share(int(fd)) })
		return errors.Join(err, failed)
	}}
	foreign, err := sharing.ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer foreign.Close()
	taken := map[string]string{"a program that would share it": foreign.LocalAddr().String()}
	for _, n := range []int{1, fourWorkers} {
		r := newRig(t, func(c *Configuration) { c.Workers = n })
		for i, family := range []string{"IPv4", "IPv6"} {
			taken[fmt.Sprintf("a collector of %d, %s", n, family)] = r.comp.Listening()[i].String()
		}
	}
	for name, address := range taken {
		for _, n := range []int{1, fourWorkers} {
			err := listenOn(t, address, n)
			if !errors.Is(err, unix.EADDRINUSE) || !strings.Contains(err.Error(), address+": another program") {
				t.Errorf("%s: a collector of %d on its port says %v, want that another program has %s", name, n, err, address)
			}
		}
	}
}

// TestAPortIsFreeAfterStop, with another number of workers as well.
func TestAPortIsFreeAfterStop(t *testing.T) {
	address := ports.Loopback(t)
	for i, n := range []int{fourWorkers, 1, 2, fourWorkers} {
		r := newRig(t, func(c *Configuration) { c.Workers, c.Listen = n, []string{address} })
		if got := r.comp.Listening(); len(got) != 1 || got[0].String() != address {
			t.Errorf("collector %d listens on %v, want %s", i, got, address)
		}
		r.send(r.from(exporters(6, 1)[0], 0), netflow9(1, v9Template, v9Record))
		r.records(1)
		if err := r.comp.Stop(t.Context()); err != nil {
			t.Fatalf("stop %d: %v", i, err)
		}
	}
}

// TestOnlySeveralWorkersShareAPort: nobody else's socket can join that of one worker.
func TestOnlySeveralWorkersShareAPort(t *testing.T) {
	for _, n := range []int{1, 2, fourWorkers} {
		r := newRig(t, func(c *Configuration) { c.Workers = n })
		if got, want := len(r.comp.sockets), n*len(r.comp.cfg.Listen); got != want {
			t.Errorf("%d sockets, want %d", got, want)
		}
		for _, s := range r.comp.sockets {
			shares := 0
			err := s.control(func(fd int) (err error) {
				shares, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT)
				return err
			})
			if err != nil || (shares != 0) != (n > 1) {
				t.Errorf("%d workers: SO_REUSEPORT is %d (%v)", n, shares, err)
			}
		}
	}
}

// TestMemoryCountsEachWorkersRead, beside what workers have together.
func TestMemoryCountsEachWorkersRead(t *testing.T) {
	one, many := DefaultConfiguration(), DefaultConfiguration()
	many.Workers = 1 + 10
	if grown := many.Memory() - one.Memory(); grown < 10*readBatch*maxDatagram || grown > 10*(16<<20) {
		t.Errorf("ten workers more are %d octets, want the datagrams that each reads at once, and their records", grown)
	}
}
