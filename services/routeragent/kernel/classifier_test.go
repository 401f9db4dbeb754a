package kernel

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/millrace/millrace/services/routeragent/bpf"
)

// bench is the classifier's programs on no interface, run packet by packet
// (BPF_PROG_TEST_RUN); the context's ifindex is 1, the loopback's.
type bench struct {
	t   testing.TB
	obj *objects
}

func newBench(t testing.TB, rules []Rule, port bpf.ClassifierPort) *bench {
	t.Helper()
	spec, err := bpf.LoadClassifier()
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, obj: &objects{}}
	if err := spec.LoadAndAssign(b.obj, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.obj.close() })
	b.load(rules)
	if err := b.obj.Ports.Put(uint32(1), port); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) load(rules []Rule) {
	b.t.Helper()
	if err := b.obj.put(0, rules); err != nil {
		b.t.Fatal(err)
	}
}

// skb is struct __sk_buff up to ifindex and priority, as BPF_PROG_TEST_RUN takes it.
type skb struct {
	Len, PktType, Mark, QueueMapping, Protocol, VlanPresent, VlanTCI, VlanProto, Priority, IngressIfindex, Ifindex, TCIndex uint32
	Rest                                                                                                                    [36]uint32
}

func (b *bench) run(p *ebpf.Program, packet []byte, in skb) skb {
	b.t.Helper()
	in.Ifindex = 1
	var out skb
	if _, err := p.Run(&ebpf.RunOptions{Data: packet, Context: in, ContextOut: &out}); err != nil {
		b.t.Fatal(err)
	}
	return out
}

// frame is an Ethernet frame with an IPv4 header under any number of MPLS labels.
func frame(src, dst string, labels ...uint32) []byte {
	f := make([]byte, 14)
	binary.BigEndian.PutUint16(f[12:], 0x0800)
	for i, l := range labels {
		binary.BigEndian.PutUint16(f[12:], 0x8847)
		entry := l<<12 | 64
		if i == len(labels)-1 {
			entry |= 1 << 8
		}
		f = binary.BigEndian.AppendUint32(f, entry)
	}
	ip := make([]byte, 40)
	ip[0], ip[8], ip[9] = 0x45, 64, 17
	s, d := netip.MustParseAddr(src).As4(), netip.MustParseAddr(dst).As4()
	copy(ip[12:], s[:])
	copy(ip[16:], d[:])
	return append(f, ip...)
}

func rule(sequence uint32, src, dst string, class, path int) Rule {
	return Rule{Sequence: sequence, Src: netip.MustParsePrefix(src), Dst: netip.MustParsePrefix(dst), Mark: Mark(class, path), Counter: int(sequence)}
}

func TestIngressMarks(t *testing.T) {
	b := newBench(t, []Rule{
		rule(10, "192.0.2.0/24", "198.51.100.0/24", 1, 1),
		rule(20, "192.0.2.7/32", "198.51.100.9/32", 2, 2), // never reached: rule 10 is earlier
		rule(30, "10.1.0.0/16", "0.0.0.0/0", 3, 0),
		rule(25, "10.1.1.0/24", "10.2.0.0/16", 4, 4), // earlier than 30, more specific
		rule(40, "10.1.1.0/24", "10.2.0.0/16", 5, 5), // the same prefixes as 25, later
	}, bpf.ClassifierPort{Policy: 1})
	for _, c := range []struct {
		name   string
		packet []byte
		mark   uint32 // before
		want   uint32
	}{
		{"a pair", frame("192.0.2.1", "198.51.100.1"), 0, Mark(1, 1)},
		{"the lowest sequence wins over the longer prefix", frame("192.0.2.7", "198.51.100.9"), 0, Mark(1, 1)},
		{"the lowest sequence wins over any destination", frame("10.1.1.1", "10.2.0.1"), 0, Mark(4, 4)},
		{"any destination", frame("10.1.9.1", "203.0.113.1"), 0, Mark(3, 0)},
		{"the reverse of a pair is another pair", frame("198.51.100.1", "192.0.2.1"), 0, 0},
		{"under one label", frame("192.0.2.1", "198.51.100.1", 16002), 0, Mark(1, 1)},
		{"under three labels", frame("192.0.2.1", "198.51.100.1", 16003, 16004, 16002), 0, Mark(1, 1)},
		{"the operator's bits stay", frame("192.0.2.1", "198.51.100.1"), 0x00001234, Mark(1, 1) | 0x1234},
		{"no match leaves the mark alone", frame("203.0.113.1", "203.0.113.2"), 0x5678, 0x5678},
		{"a frame that ends among its labels", frame("192.0.2.1", "198.51.100.1", 16003, 16002)[:20], 0, 0},
		{"labels that never end", append(frame("0.0.0.0", "0.0.0.0", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)[:14], make([]byte, 60)...), 0, 0},
		{"IPv6 under a label", func() []byte { f := frame("192.0.2.1", "198.51.100.1", 16002); f[18] = 0x60; return f }(), 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := b.run(b.obj.Ingress, c.packet, skb{Mark: c.mark}).Mark; got != c.want {
				t.Errorf("mark %#x, want %#x", got, c.want)
			}
		})
	}
}

func TestIngressCountsWhatItMatches(t *testing.T) {
	b := newBench(t, []Rule{rule(10, "192.0.2.0/24", "198.51.100.0/24", 1, 1)}, bpf.ClassifierPort{Policy: 1})
	f := frame("192.0.2.1", "198.51.100.1")
	for range 5 {
		b.run(b.obj.Ingress, f, skb{})
	}
	var per []bpf.ClassifierHit
	if err := b.obj.Hits.Lookup(uint32(10), &per); err != nil {
		t.Fatal(err)
	}
	var packets, octets uint64
	for _, h := range per {
		packets, octets = packets+h.Packets, octets+h.Octets
	}
	if packets != 5 || octets != 5*uint64(len(f)) {
		t.Errorf("%d packets of %d octets, want 5 of %d", packets, octets, 5*len(f))
	}
}

func TestAnUnboundPortIsLeftAlone(t *testing.T) {
	b := newBench(t, []Rule{rule(10, "0.0.0.0/0", "0.0.0.0/0", 1, 1)}, bpf.ClassifierPort{Handle: 0x7e000000})
	if got := b.run(b.obj.Ingress, frame("192.0.2.1", "198.51.100.1"), skb{}).Mark; got != 0 {
		t.Errorf("mark %#x on a port without a policy", got)
	}
}

func TestEgressTurnsTheClassIntoAPriority(t *testing.T) {
	b := newBench(t, nil, bpf.ClassifierPort{Handle: 0x7e010000})
	for mark, want := range map[uint32]uint32{Mark(2, 7): 0x7e010012, Mark(15, 0): 0x7e01001f, Mark(0, 7): 6, 0: 6, 0x1234: 6} {
		if got := b.run(b.obj.Egress, frame("192.0.2.1", "198.51.100.1"), skb{Mark: mark, Priority: 6}).Priority; got != want {
			t.Errorf("mark %#x: priority %#x, want %#x", mark, got, want)
		}
	}
}

// TestTheFastWayAgreesWithTheSlow compares the program with a walk over the rules in their order.
func TestTheFastWayAgreesWithTheSlow(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	address := func() netip.Addr {
		return netip.AddrFrom4([4]byte{10, byte(random.IntN(3)), byte(random.IntN(3)), byte(random.IntN(4))})
	}
	lengths := []int{0, 8, 15, 16, 24, 31, 32}
	prefix := func() netip.Prefix {
		return netip.PrefixFrom(address(), lengths[random.IntN(len(lengths))]).Masked()
	}
	b := newBench(t, nil, bpf.ClassifierPort{Policy: 1})
	for round := range 20 {
		var rules []Rule
		used := map[[2]int]bool{}
		for i := 0; i < 40; i++ {
			r := Rule{Sequence: uint32(i + 1), Src: prefix(), Dst: prefix(), Mark: Mark(1+i%MaxClass, i), Counter: i}
			if pair := [2]int{r.Src.Bits(), r.Dst.Bits()}; used[pair] || len(used) < MaxLengthPairs {
				used[pair] = true
				rules = append(rules, r)
			}
		}
		b.load(rules)
		for range 50 {
			src, dst := address(), address()
			want := uint32(0)
			for _, r := range rules {
				if r.Src.Contains(src) && r.Dst.Contains(dst) {
					want = r.Mark
					break
				}
			}
			if got := b.run(b.obj.Ingress, frame(src.String(), dst.String()), skb{}).Mark; got != want {
				t.Fatalf("round %d: %s to %s marked %#x, want %#x", round, src, dst, got, want)
			}
		}
	}
}

// BenchmarkIngress is the cost of one packet with a rule set of a size; 150 ns is the aim at a million pairs.
func BenchmarkIngress(b *testing.B) {
	for _, n := range []int{1, 20_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			rules := make([]Rule, n)
			for i := range rules {
				a := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
				rules[i] = Rule{Sequence: uint32(i), Src: netip.PrefixFrom(a, 32), Dst: netip.MustParsePrefix("198.51.100.0/24"), Mark: Mark(1, 1)}
			}
			x := newBench(b, rules, bpf.ClassifierPort{Policy: 1})
			x.repeat(b, frame("10.0.0.0", "198.51.100.1"))
		})
	}
}

// repeat runs the ingress program b.N times over one packet.
func (x *bench) repeat(b *testing.B, packet []byte) {
	b.ResetTimer()
	if _, err := x.obj.Ingress.Run(&ebpf.RunOptions{Data: packet, Context: skb{Ifindex: 1}, Repeat: uint32(b.N)}); err != nil {
		b.Fatal(err)
	}
}
