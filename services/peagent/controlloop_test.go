package peagent

import (
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/services/peagent/datapath"
)

// BenchmarkControlLoop is one update of each of 100,000 VPN flows, answers
// arriving for all of them: counters and rates are the kernel's real arrays.
func BenchmarkControlLoop(b *testing.B) {
	const flows = 100_000
	cfg := DefaultConfiguration()
	cfg.Flows, cfg.Prefixes, cfg.MarkMask, cfg.Mode, cfg.Pins = flows, flows, 0xffffff, "edt", ""
	cfg.PE = netip.MustParseAddr("127.0.0.1")
	for i := range 1000 { // with customers at 101 PEs each
		cfg.VPNs = append(cfg.VPNs, VPN{Name: fmt.Sprint("vpn", i), ID: uint32(i + 1)})
	}
	a := New(cfg, Dependencies{})
	var err error
	if a.dp, err = datapath.Open(datapath.Options{Flows: flows, Prefixes: flows, MarkMask: cfg.MarkMask}); err != nil {
		b.Fatal(err)
	}
	defer a.dp.Close()
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	a.requests = newRequests(c, cfg.PE, func(int) {})
	for i := range flows {
		pe := netip.AddrFrom4([4]byte{10, 255, 0, byte(i%100 + 1)})
		if _, err := a.slot(i/100, pe); err != nil {
			b.Fatal(err)
		}
	}
	kernel, err := a.dp.Memory()
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	began := processor(b)
	var now uint64
	for i := range b.N {
		slot := uint32(i % flows)
		if i%perTick == 0 {
			now = datapath.Now() // as in step
		}
		f := &a.reg.flows[slot]
		f.sequence++
		k := &a.dp.Flows[slot]
		k.Packets += 2
		f.packets = k.Packets // no request is due: sending is measured with the network
		a.dp.Answer(slot, f.sequence, k.Packets, k.Packets, 20e6, now)
		a.visit(slot, now)
	}
	b.StopTimer()
	spent := processor(b) - began
	var after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(a)
	b.ReportMetric(float64(kernel)/(1<<20), "MB-kernel")
	b.ReportMetric(float64(after.HeapAlloc)/(1<<20), "MB-agent-heap")
	each := float64(spent.Nanoseconds()) / float64(b.N)
	b.ReportMetric(each, "cpu-ns/op")
	b.ReportMetric(each*10*flows/1e7, "%core-at-10/s")
}

// processor is the time this process has had of processors: a busy machine does not count.
func processor(t testing.TB) time.Duration {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
