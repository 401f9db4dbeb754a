package datapath

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/millrace/millrace/services/peagent/bpf"
	"github.com/millrace/millrace/services/peagent/management"
)

// skb is struct __sk_buff as BPF_PROG_TEST_RUN takes it.
type skb struct {
	Len, PktType, Mark, QueueMapping, Protocol, VlanPresent, VlanTCI, VlanProto, Priority, IngressIfindex, Ifindex, TCIndex uint32
	_                                                                                                                       [26]uint32
	Tstamp                                                                                                                  uint64
	WireLen, GsoSegs                                                                                                        uint32
	Sk                                                                                                                      uint64
	GsoSize                                                                                                                 uint32
	_                                                                                                                       [3]uint32
}

var (
	pe1, pe2 = netip.MustParseAddr("10.255.0.1"), netip.MustParseAddr("10.255.0.2")
	keys, _  = management.ParseKeys([]byte("1 000102030405060708090a0b0c0d0e0f\n2 101112131415161718191a1b1c1d1e1f"))
)

const port = 4756

// open loads a PE that is on no interface; test packets come from the loopback, ifindex 1.
func open(t testing.TB, local netip.Addr, mode Mode, flows int) *Datapath {
	t.Helper()
	d, err := Open(Options{Flows: flows, Prefixes: max(flows, 1024), MarkMask: 0x00ffffff})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	d.Configure(bpf.PeControl{Local: Word(local), Port: port>>8 | port<<8&0xff00, Mode: uint8(mode), Handle: mode.Handle()})
	d.KeepAlive(1 << 62)
	if err := d.SetKeys(keys); err != nil {
		t.Fatal(err)
	}
	return d
}

func run(t testing.TB, p *ebpf.Program, packet []byte, in skb) (verdict int32, out skb, data []byte) {
	t.Helper()
	in.Ifindex = 1
	data = make([]byte, len(packet)+64)
	o := &ebpf.RunOptions{Data: packet, DataOut: data, Context: in, ContextOut: &out}
	v, err := p.Run(o)
	if err != nil {
		t.Fatal(err)
	}
	return int32(v), out, o.DataOut
}

const (
	unspec = -1
	shot   = 2
	stolen = 4
	redir  = 7
)

// frame is an Ethernet frame with an IPv4 header and a UDP header under any number of MPLS labels.
func frame(src, dst netip.Addr, payload []byte, labels ...uint32) []byte {
	f := []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0}
	for i, l := range labels {
		binary.BigEndian.PutUint16(f[12:], 0x8847)
		entry := l<<12 | 64
		if i == len(labels)-1 {
			entry |= 1 << 8
		}
		f = binary.BigEndian.AppendUint32(f, entry)
	}
	ip := make([]byte, 28)
	ip[0], ip[8], ip[9] = 0x45, 3, 17
	binary.BigEndian.PutUint16(ip[2:], uint16(28+len(payload)))
	s, d := src.As4(), dst.As4()
	copy(ip[12:], s[:])
	copy(ip[16:], d[:])
	binary.BigEndian.PutUint16(ip[10:], sum(ip[:20]))
	binary.BigEndian.PutUint16(ip[20:], 30000)
	binary.BigEndian.PutUint16(ip[22:], port)
	binary.BigEndian.PutUint16(ip[24:], uint16(8+len(payload)))
	return append(append(f, ip...), payload...)
}

func sum(header []byte) uint16 {
	var s uint32
	for i := 0; i < len(header); i += 2 {
		if i != 10 {
			s += uint32(binary.BigEndian.Uint16(header[i:]))
		}
	}
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return ^uint16(s)
}

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

func TestCustomerPacketsFindTheirFlow(t *testing.T) {
	d := open(t, pe1, EDT, 64)
	for p, flow := range map[string]uint32{"10.2.0.0/16": 5, "10.2.3.0/24": 6, "10.2.3.4/32": 7} {
		if err := d.SetPrefix(9, netip.MustParsePrefix(p), flow); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.SetPort(1, 9, Lengths{IPv4: []int{16, 24, 32, 24}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name       string
		packet     []byte
		mark, want uint32
	}{
		{"the longest prefix of three", frame(addr("10.1.0.1"), addr("10.2.3.4"), nil), 0, 8},
		{"the middle prefix", frame(addr("10.1.0.1"), addr("10.2.3.5"), nil), 0, 7},
		{"the shortest prefix", frame(addr("10.1.0.1"), addr("10.2.9.9"), nil), 0, 6},
		{"no prefix", frame(addr("10.1.0.1"), addr("10.3.0.1"), nil), 0, 0},
		{"a mark the packet brought along chooses nothing", frame(addr("10.1.0.1"), addr("10.3.0.1"), nil), 0x3, 0},
		{"others' bits of the mark stay", frame(addr("10.1.0.1"), addr("10.2.9.9"), nil), 0x7f000003, 0x7f000006},
		{"an Ethernet frame of another protocol", append([]byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x06}, make([]byte, 60)...), 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if v, out, _ := run(t, d.CustomerIn, c.packet, skb{Mark: c.mark}); v != unspec || out.Mark != c.want {
				t.Errorf("verdict %d, mark %#x, want %#x", v, out.Mark, c.want)
			}
		})
	}
	for range 3 {
		run(t, d.CustomerOut, frame(addr("10.2.3.4"), addr("10.1.0.1"), make([]byte, 100)), skb{})
	}
	if got := d.Received[7]; got.Packets != 3 || got.Octets != 3*142 {
		t.Errorf("received %+v of flow 7, want 3 packets of 142", got)
	}
}

// TestLongestPrefixAgainstTheSlowWay compares with a walk over all prefixes.
func TestLongestPrefixAgainstTheSlowWay(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	d := open(t, pe1, EDT, 1024)
	var prefixes []netip.Prefix
	var lengths []int
	for flow := range uint32(300) {
		p := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(random.IntN(4)), byte(random.IntN(4)), byte(random.IntN(256))}), []int{0, 7, 8, 14, 16, 22, 24, 30, 32}[random.IntN(9)]).Masked()
		if d.Prefixes.Lookup(prefixKey(1, p), new(uint32)) == nil {
			continue
		}
		if err := d.SetPrefix(1, p, flow); err != nil {
			t.Fatal(err)
		}
		prefixes, lengths = append(prefixes, p), append(lengths, p.Bits())
	}
	if err := d.SetPort(1, 1, Lengths{IPv4: lengths}); err != nil {
		t.Fatal(err)
	}
	for range 500 {
		a := netip.AddrFrom4([4]byte{10, byte(random.IntN(4)), byte(random.IntN(4)), byte(random.IntN(256))})
		var want uint32
		longest := -1
		for _, p := range prefixes {
			if p.Contains(a) && p.Bits() > longest {
				longest = p.Bits()
				var flow uint32
				if err := d.Prefixes.Lookup(prefixKey(1, p), &flow); err != nil {
					t.Fatal(err)
				}
				want = flow + 1
			}
		}
		if _, out, _ := run(t, d.CustomerIn, frame(pe1, a, nil), skb{}); out.Mark != want {
			t.Fatalf("%s: mark %d, want %d", a, out.Mark, want)
		}
	}
	if d.SetPort(1, 1, Lengths{IPv4: []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}}) == nil {
		t.Error("17 prefix lengths were accepted")
	}
}
