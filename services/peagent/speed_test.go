package peagent

import (
	"flag"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/services/peagent/datapath"
	"github.com/millrace/millrace/services/peagent/law"
)

var (
	manyVPNs = flag.Int("vpns", 1300, "VPN flows in BenchmarkThroughput")
	rounds   = flag.Int("rounds", 3, "how often BenchmarkThroughput measures each")
)

// wide is a network of many customer ports and no bottleneck but the processor.
// Offloads are on, as on a real PE.
func wide(t testing.TB, vpns int) *network {
	t.Helper()
	n := &network{t: t, id: fmt.Sprintf("mpw%d-%d", os.Getpid(), networks.Add(1)), vpns: vpns, dir: t.TempDir()}
	for _, node := range []string{"left", "pe1", "pe2", "right"} {
		n.run("ip", "netns", "add", n.ns(node))
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", n.ns(node)).Run() })
		n.in(node, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1", "net.ipv4.ip_forward=1",
			"net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.default.rp_filter=0")
	}
	lines := map[string]*strings.Builder{"": {}, "left": {}, "pe1": {}, "pe2": {}, "right": {}}
	say := func(node, format string, args ...any) { fmt.Fprintf(lines[node], format+"\n", args...) }
	say("", "link add name core netns %s type veth peer name core netns %s", n.ns("pe1"), n.ns("pe2"))
	for pe, node := range []string{"pe1", "pe2"} {
		say(node, "link set lo up\naddress add 10.255.0.%d/32 dev lo\naddress add 10.0.0.%d/24 dev core\nlink set core up", pe+1, pe+1)
		say(node, "route add 10.255.0.%d via 10.0.0.%d\nroute add 10.%d.0.0/16 via 10.0.0.%d", 2-pe, 2-pe, 2-pe, 2-pe)
	}
	for i := 1; i <= vpns; i++ {
		for side, ends := range [][2]string{{"left", "pe1"}, {"right", "pe2"}} {
			net4 := fmt.Sprintf("10.%d.%d", side+1, i>>6)
			host := (i & 63) * 4
			mac := func(end int) string { return fmt.Sprintf("02:00:%02x:%02x:%02x:%02x", side, end, i>>8, i&255) }
			say("", "link add name c%d address %s netns %s type veth peer name c%d address %s netns %s", i, mac(0), n.ns(ends[0]), i, mac(1), n.ns(ends[1]))
			say(ends[0], "address add %s.%d/30 dev c%d\nlink set c%d up\nroute add 10.%d.%d.%d/30 via %s.%d", net4, host+2, i, i, 2-side, i>>6, host, net4, host+1)
			say(ends[1], "address add %s.%d/30 dev c%d\nlink set c%d up", net4, host+1, i, i)
			// Neighbours stand fast: the whole machine has room for 1,024 that it has to find.
			say(ends[0], "neigh add %s.%d lladdr %s dev c%d nud permanent", net4, host+1, mac(1), i)
			say(ends[1], "neigh add %s.%d lladdr %s dev c%d nud permanent", net4, host+2, mac(0), i)
		}
	}
	for _, node := range []string{"", "left", "pe1", "pe2", "right"} {
		args := []string{"-batch", "-"}
		if node != "" {
			args = append([]string{"-netns", n.ns(node)}, args...)
		}
		cmd := exec.Command("ip", args...)
		cmd.Stdin = strings.NewReader(lines[node].String())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", node, err, out)
		}
	}
	if err := os.Mkdir(n.dir+"/bpf", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("bpf", n.dir+"/bpf", "bpf", 0, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(n.dir+"/bpf", 0) })
	n.write("keys", "0 000102030405060708090a0b0c0d0e0f\n")
	return n
}

// wideConfig has a prefix of four addresses per VPN.
func (n *network) wideConfig(pe int) func(*Configuration) {
	return func(c *Configuration) {
		c.Flows, c.Prefixes, c.Tick = 4096, 8192, 10*time.Millisecond
		c.PerRoundTrip = 2
		for i := range c.VPNs {
			v := i + 1
			c.VPNs[i].Remotes[0].Prefixes = []netip.Prefix{netip.MustParsePrefix(fmt.Sprintf("10.%d.%d.%d/30", 3-pe, v>>6, (v&63)*4))}
		}
	}
}

// load is one TCP connection per VPN from left to right; it counts octets received.
type load struct {
	received []atomic.Uint64
	stop     atomic.Bool
	conns    []net.Conn
}

func (n *network) load() *load {
	n.t.Helper()
	l := &load{received: make([]atomic.Uint64, n.vpns)}
	var server net.Listener
	n.within("right", func() (err error) { server, err = net.Listen("tcp4", "0.0.0.0:7000"); return err })
	n.t.Cleanup(func() { l.end(); server.Close() })
	go func() {
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			// 10.2.X.Y: the VPN is in the local address.
			a := c.LocalAddr().(*net.TCPAddr).IP.To4()
			go l.drain(c, int(a[2])<<6+int(a[3])>>2-1)
		}
	}()
	n.within("left", func() error {
		for i := 1; i <= n.vpns; i++ {
			c, err := net.Dial("tcp4", fmt.Sprintf("10.2.%d.%d:7000", i>>6, (i&63)*4+2))
			if err != nil {
				return err
			}
			l.conns = append(l.conns, c)
		}
		return nil
	})
	for _, c := range l.conns {
		go func() {
			block := make([]byte, 128<<10)
			for !l.stop.Load() {
				if _, err := c.Write(block); err != nil {
					return
				}
			}
		}()
	}
	return l
}

// drain throws away what arrives without copying it.
func (l *load) drain(c net.Conn, vpn int) {
	defer c.Close()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return
	}
	var scratch [1]byte
	for {
		ended := false
		err := raw.Read(func(fd uintptr) bool {
			n, _, errno := unix.Syscall6(unix.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(&scratch[0])), 1<<20, unix.MSG_TRUNC|unix.MSG_DONTWAIT, 0, 0)
			if errno == unix.EAGAIN {
				return false
			}
			ended = errno != 0 || n == 0
			if !ended {
				l.received[vpn].Add(uint64(n))
			}
			return true
		})
		if err != nil || ended {
			return
		}
	}
}

func (l *load) end() {
	l.stop.Store(true)
	for _, c := range l.conns {
		c.Close()
	}
}

// over measures Gbit/s in all, and Jain's index over VPNs.
func (l *load) over(d time.Duration) (gbps, jain float64) {
	first := make([]uint64, len(l.received))
	for i := range l.received {
		first[i] = l.received[i].Load()
	}
	began := time.Now()
	time.Sleep(d)
	x := make([]float64, len(l.received))
	for i := range l.received {
		x[i] = float64(l.received[i].Load() - first[i])
		gbps += x[i] * 8 / 1e9
	}
	return gbps / time.Since(began).Seconds(), law.Jain(x)
}

// BenchmarkThroughput: TCP through two PEs, both load ends on the same
// processors, one connection per VPN. Plain forwarding, HTB classes without
// agent, and the agent take turns.
func BenchmarkThroughput(b *testing.B) {
	const seconds = 5
	vpns := *manyVPNs
	n := wide(b, vpns)
	l := n.load()
	time.Sleep(2 * time.Second)
	report := func(b *testing.B) {
		gbps, jain := l.over(seconds * time.Second)
		b.ReportMetric(gbps, "Gbit/s")
		b.ReportMetric(jain, "Jain")
		b.ReportMetric(0, "ns/op")
	}
	for round := range *rounds {
		b.Run(fmt.Sprintf("plain/%d", round), func(b *testing.B) { report(b) })
		b.Run(fmt.Sprintf("htb/%d", round), func(b *testing.B) {
			n.within("pe1", func() error {
				s, err := datapath.OpenScheduler("core", datapath.HTB, vpns, 128)
				if err != nil {
					return err
				}
				for slot := range uint32(vpns) {
					if err := s.SetRate(slot, 1.25e9); err != nil {
						return err
					}
				}
				return nil
			})
			report(b)
			n.within("pe1", func() error { return datapath.CloseScheduler("core") })
		})
		for _, mode := range []string{"htb", "police"} {
			b.Run(fmt.Sprintf("agent-%s/%d", mode, round), func(b *testing.B) {
				n.t = b
				var agents []*Agent
				for pe := 1; pe <= 2; pe++ {
					agents = append(agents, n.start(pe, func(c *Configuration) { n.wideConfig(pe)(c); c.Mode = mode }))
				}
				time.Sleep(8 * time.Second) // starts, doubles, meets the limit
				report(b)
				up := 0
				for _, f := range agents[0].Flows() {
					if f.Phase != law.Unanswered {
						up++
					}
				}
				b.ReportMetric(float64(up), "controlled")
				if testing.Verbose() {
					for _, f := range agents[0].Flows() {
						b.Logf("%+v", f)
					}
				}
				for pe, a := range agents {
					_ = a.Stop(b.Context())
					n.within(fmt.Sprint("pe", pe+1), func() error { return Remove(a.cfg) })
				}
			})
		}
	}
}

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
