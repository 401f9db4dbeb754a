package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"time"

	"github.com/cilium/ebpf"

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
		out[i] = kernel.Rule{Sequence: uint32(i + 1), Src: netip.PrefixFrom(src, l[0]).Masked(), Dst: netip.PrefixFrom(dst, l[1]).Masked(), Mark: kernel.Mark(1, 0), Hit: i % kernel.MaxHits}
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

// benchPacket runs the classifier packet by packet (BPF_PROG_TEST_RUN), which tells the nanoseconds the program took.
func benchPacket(t *table, runs int) error {
	if jit, err := os.ReadFile("/proc/sys/net/core/bpf_jit_enable"); err == nil {
		t.notef("net.core.bpf_jit_enable = %.1s", jit)
	}
	type line struct {
		n, k                  int
		hit, miss, load, swap *row
		apart                 *row
		memory                float64
	}
	var lines []*line
	for _, c := range [][2]int{{1, 1}, {20_000, 1}, {20_000, 4}, {1_000_000, 1}, {1_000_000, 4}} {
		l := &line{n: c[0], k: c[1]}
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
				before, err := newestProgram()
				if err != nil && !errors.Is(err, os.ErrNotExist) {
					return err
				}
				if err := l.load.time(1, func() error { return x.hold("lo", rules) }); err != nil {
					return err
				}
				p, err := newestProgram()
				if err != nil || p.id == before.id {
					return fmt.Errorf("find the program just loaded: %v", err)
				}
				if l.memory, err = bytesPerPair(l.n); err != nil {
					return err
				}
				if err := p.measure(l.n, l.hit, l.miss, l.apart); err != nil {
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
		if l.n > 1 {
			t.notef("%d pairs, %d pairs of lengths: %.0f bytes of kernel memory per pair", l.n, l.k, l.memory)
		}
	}
	t.notef("one packet: the median of %d times %d repetitions; packets all different: the median of %d programs run once each, cold, with the cost of the clock and of a system call between them", chunks, hot, cold)
	return nil
}

type program struct {
	*ebpf.Program
	id ebpf.ProgramID
}

// newestProgram is the ingress classifier loaded last; in its namespace it hangs on lo, whose index is 1 everywhere.
func newestProgram() (program, error) {
	var newest program
	for id := ebpf.ProgramID(0); ; {
		next, err := ebpf.ProgramGetNextID(id)
		if errors.Is(err, os.ErrNotExist) {
			break
		}
		if err != nil {
			return newest, err
		}
		id = next
		p, err := ebpf.NewProgramFromID(id)
		if err != nil {
			continue // gone meanwhile
		}
		if info, err := p.Info(); err == nil && info.Name == "te_ingress" {
			newest = program{p, id}
		}
	}
	if newest.Program == nil {
		return newest, os.ErrNotExist
	}
	return newest, nil
}

// bytesPerPair is what the biggest map of the classifier's rules takes.
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
		if info, err := m.Info(); err == nil && int(info.MaxEntries) >= n {
			if bytes, ok := info.Memlock(); ok {
				most = max(most, bytes)
			}
		}
		m.Close()
	}
	return float64(most) / float64(n), nil
}

func (p program) measure(n int, hit, miss, apart *row) error {
	src, dst := addresses(n / 2)
	for _, m := range []struct {
		row    *row
		packet []byte
	}{{hit, frame(src, dst)}, {miss, frame(netip.MustParseAddr("203.0.113.1"), dst)}} {
		per := make([]time.Duration, chunks)
		for i := range per {
			var err error
			if _, per[i], err = p.Benchmark(m.packet, hot, nil); err != nil {
				return err
			}
		}
		m.row.add(median(per), 0)
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
	apart.add(median(per), 0)
	return nil
}
