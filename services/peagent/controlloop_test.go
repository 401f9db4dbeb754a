package peagent

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/internal/scratchns"
	"github.com/millrace/millrace/services/peagent/bpf"
	"github.com/millrace/millrace/services/peagent/datapath"
	"github.com/millrace/millrace/services/peagent/management"
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
	a := newAgent(cfg, Dependencies{})
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
		if _, err := a.flowIndex(i/100, pe); err != nil {
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
		index := uint32(i % flows)
		if i%flowsPerTick == 0 {
			now = datapath.Now() // as in tick
		}
		f := &a.reg.flows[index]
		f.sequence++
		k := &a.dp.Flows[index]
		k.Packets += 2
		f.packetsAtRequest = k.Packets // no request is due: sending is measured with the network
		a.dp.PutFeedback(index, f.sequence, k.Packets, k.Packets, 20e6, now)
		a.updateFlow(index, now)
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

// BenchmarkSending is what one management packet takes of the processor to leave
// a PE: made by the agent in batches, routed, stamped and signed by core_out on a
// port whose far end is down. With 100,000 flows to 100 PEs the worst case is one packet
// per flow in 100 ms; flows without traffic send none.
func BenchmarkSending(b *testing.B) {
	const flows = 100_000
	_, err := scratchns.Run(func(netns.NsHandle) (_ struct{}, err error) {
		cfg := DefaultConfiguration()
		cfg.PE, cfg.MarkMask = netip.MustParseAddr("10.255.255.1"), 0xffffff
		commands := "link set dev lo up\naddress add 10.255.255.1/32 dev lo\naddress add 10.0.0.1/24 dev probe0\nlink set dev probe0 up\n" +
			"neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev probe0 nud permanent\nroute add 10.255.0.0/24 via 10.0.0.2\n"
		ip := exec.Command("ip", "-batch", "-")
		ip.Stdin = strings.NewReader(commands)
		if out, err := ip.CombinedOutput(); err != nil {
			return struct{}{}, fmt.Errorf("%w: %s", err, out)
		}
		dp, err := datapath.Open(datapath.Options{Flows: flows, Prefixes: 1, MarkMask: cfg.MarkMask})
		if err != nil {
			return struct{}{}, err
		}
		defer dp.Close()
		keys, err := management.ParseKeys([]byte("0 000102030405060708090a0b0c0d0e0f"))
		if err != nil {
			return struct{}{}, err
		}
		dp.Configure(bpf.PeControl{Local: datapath.Word(cfg.PE), Port: cfg.Port<<8 | cfg.Port>>8})
		dp.KeepAlive(1 << 62)
		ports, err := datapath.OpenPorts()
		if err == nil {
			err = errors.Join(dp.SetKeys(keys), dp.Attach(ports, []string{scratchns.Port}, nil))
			ports.Close()
		}
		if err != nil {
			return struct{}{}, err
		}
		c, err := listen(b.Context(), netip.AddrPortFrom(cfg.PE, cfg.Port), cfg.MarkMask)
		if err != nil {
			return struct{}{}, err
		}
		defer c.Close()
		failed := 0
		r := newRequests(c, cfg.PE, func(n int) { failed += n })
		all := make([]vpnFlow, flows)
		for i := range all {
			all[i].egress = [4]byte{10, 255, 0, byte(i%100 + 1)}
			all[i].to = &net.UDPAddr{IP: all[i].egress[:], Port: int(cfg.Port)}
		}
		b.ResetTimer()
		began := processor(b)
		for i := range b.N {
			r.add(uint32(i%flows), 1, &all[i%flows], false)
		}
		r.flush()
		b.StopTimer()
		each := float64((processor(b) - began).Nanoseconds()) / float64(b.N)
		if stamped, err := dp.Count(0); err != nil || stamped != uint64(b.N) || failed != 0 {
			return struct{}{}, fmt.Errorf("%d of %d stamped, %d failed: %v", stamped, b.N, failed, err)
		}
		b.ReportMetric(each, "cpu-ns/op")
		b.ReportMetric(each*10*flows/1e7, "%core-at-10/s")
		return struct{}{}, nil
	})
	if err != nil {
		b.Fatal(err)
	}
}
