package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"

	"github.com/millrace/millrace/services/routeragent/kernel"
)

const (
	chunks = 100    // of repetitions of one packet
	hot    = 20_000 // repetitions in a chunk, 2 ms: most are not interrupted, and the median chunk is not
	cold   = 20_000 // different packets
)

// lengthPairs are combinations of prefix lengths; a packet is looked up once per combination in use.
var lengthPairs = [][2]int{{32, 24}, {24, 24}, {32, 32}, {24, 16}}

// pairRules are n pairs, spread over the first k combinations of lengths.
func pairRules(n, k int) []kernel.Rule {
	out := make([]kernel.Rule, n)
	for i := range out {
		l := lengthPairs[i%k]
		src, dst := addresses(i)
		out[i] = kernel.Rule{Sequence: uint32(i + 1), Src: netip.PrefixFrom(src, l[0]).Masked(), Dst: netip.PrefixFrom(dst, l[1]).Masked(), Mark: kernel.Mark(1, 0), Counter: i % kernel.MaxRuleCounters}
	}
	return out
}

// addresses of pair i; each pair has a /24 source and a /16 destination of its own.
func addresses(i int) (src, dst netip.Addr) {
	return netip.AddrFrom4([4]byte{byte(10 + i>>16), byte(i >> 8), byte(i), 1}), netip.AddrFrom4([4]byte{byte(100 + i>>16), byte(i >> 8), 1, 1})
}

// frame is an Ethernet frame with an IPv4 and a UDP header.
func frame(src, dst netip.Addr) []byte {
	f := make([]byte, 14+20+8+18)
	binary.BigEndian.PutUint16(f[12:], 0x0800)
	f[14], f[22], f[23] = 0x45, 64, 17
	binary.BigEndian.PutUint16(f[16:], 46)
	s, d := src.As4(), dst.As4()
	copy(f[26:], s[:])
	copy(f[30:], d[:])
	return f
}

// line is a rule set of a size with what is measured of it.
type line struct {
	n, k                         int
	hit, miss, apart, load, swap *row
	// memory is in bytes per pair, fastest the best chunk of any run: what it costs when nothing else runs on the core.
	memory  float64
	fastest time.Duration
}

// benchPacket runs the classifier packet by packet (BPF_PROG_TEST_RUN), which gives the nanoseconds the program took.
func benchPacket(t *table, runs int) error {
	if jit, err := os.ReadFile("/proc/sys/net/core/bpf_jit_enable"); err == nil {
		t.notef("net.core.bpf_jit_enable = %.1s", jit)
	}
	var lines []*line
	for _, c := range [][2]int{{1, 1}, {20_000, 1}, {20_000, 4}, {1_000_000, 1}, {1_000_000, 4}} {
		l := &line{n: c[0], k: c[1], fastest: time.Hour}
		what := fmt.Sprintf("%d pairs, %d pairs of lengths", l.n, l.k)
		l.hit, l.miss = t.row(what+": a packet that matches", ""), t.row(what+": a packet that does not", "")
		l.apart = t.row(what+": packets that match, all different", "")
		l.load, l.swap = t.row(what+": loaded", ""), t.row(what+": swapped", "")
		lines = append(lines, l)
	}
	for range runs {
		for _, l := range lines {
			if err := inBed(func(b *bed) error {
				x, err := openKernel(b)
				if err != nil {
					return err
				}
				rules := pairRules(l.n, l.k)
				if err := l.load.time(1, func() error { return x.hold("lo", rules) }); err != nil {
					return err
				}
				p, err := x.program()
				if err != nil {
					return err
				}
				defer p.Close()
				if l.memory, err = bytesPerPair(l.n); err != nil {
					return err
				}
				if err := measure(p, l.n, l); err != nil {
					return err
				}
				rules[0].Mark = kernel.Mark(2, 0)
				return l.swap.time(1, func() error { return x.hold("lo", rules) })
			}); err != nil {
				return err
			}
		}
	}
	for _, l := range lines {
		if l.n == 1 {
			continue
		}
		t.notef("%d pairs, %d pairs of lengths: fastest chunk %d ns per packet; %.0f bytes of kernel memory per pair", l.n, l.k, l.fastest.Nanoseconds(), l.memory)
	}
	t.notef("one packet: the median of %d times %d repetitions; packets all different: the median of %d programs run once each, cold, with the cost of the clock and of a system call between them", chunks, hot, cold)
	return nil
}

// program is the ingress classifier on lo of the namespace, whose index
// is 1 everywhere: where BPF_PROG_TEST_RUN lets its packets arrive.
func (x *loaded) program() (*ebpf.Program, error) {
	h, err := netlink.NewHandleAt(x.router.NS)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	lo, err := h.LinkByName("lo")
	if err != nil {
		return nil, err
	}
	filters, err := h.FilterList(lo, netlink.HANDLE_MIN_INGRESS)
	if err != nil {
		return nil, err
	}
	for _, f := range filters {
		if b, ok := f.(*netlink.BpfFilter); ok {
			return ebpf.NewProgramFromID(ebpf.ProgramID(b.Id))
		}
	}
	return nil, errors.New("there is no classifier on lo")
}

// bytesPerPair is what the hash of that many pairs takes.
func bytesPerPair(n int) (float64, error) {
	most := uint64(0)
	for id := ebpf.MapID(0); ; {
		next, err := ebpf.MapGetNextID(id)
		if errors.Is(err, os.ErrNotExist) {
			break
		}
		if err != nil {
			return 0, err
		}
		id = next
		m, err := ebpf.NewMapFromID(id)
		if err != nil {
			continue
		}
		if info, err := m.Info(); err == nil && info.Type == ebpf.Hash && int(info.MaxEntries) == n {
			if bytes, ok := info.Memlock(); ok {
				most = max(most, bytes)
			}
		}
		m.Close()
	}
	return float64(most) / float64(n), nil
}

func measure(p *ebpf.Program, n int, l *line) error {
	src, dst := addresses(n / 2)
	for _, m := range []struct {
		row    *row
		packet []byte
	}{{l.hit, frame(src, dst)}, {l.miss, frame(netip.MustParseAddr("203.0.113.1"), dst)}} {
		per := make([]time.Duration, chunks)
		for i := range per {
			var err error
			if _, per[i], err = p.Benchmark(m.packet, hot, nil); err != nil {
				return err
			}
		}
		m.row.add(median(per), 0)
		l.fastest = min(l.fastest, slices.Min(per))
	}
	per := make([]time.Duration, cold)
	r := rand.New(rand.NewPCG(1, uint64(n)))
	for i := range per {
		src, dst := addresses(r.IntN(n))
		var err error
		if _, per[i], err = p.Benchmark(frame(src, dst), 1, nil); err != nil {
			return err
		}
	}
	l.apart.add(median(per), 0)
	return nil
}
