package kernel

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/services/routeragent/bpf"
)

// header is a packet in words.
type header struct {
	src, dst     string
	dscp, ecn    uint8
	protocol     uint8
	sport, dport uint16
	fragment     uint16 // offset in 8 octets
	labels       []uint32
	segments     int // SRv6 segments around it
}

// frame writes it down, with 20 octets behind the ports.
func (h header) frame() []byte {
	src, dst := netip.MustParseAddr(h.src), netip.MustParseAddr(h.dst)
	l4 := make([]byte, 24)
	binary.BigEndian.PutUint16(l4, h.sport)
	binary.BigEndian.PutUint16(l4[2:], h.dport)
	ip, ethertype := ip4(h, src, dst, l4), uint16(0x0800)
	if src.Is6() {
		next := h.protocol
		if next == 0 {
			next = 59 // no next header; 0 is hop-by-hop options
		}
		ip, ethertype = ip6(h.dscp<<2|h.ecn, next, src, dst, l4), 0x86dd
	}
	if h.segments > 0 {
		ip, ethertype = srv6(h.segments, ip, src.Is6()), 0x86dd
	}
	f := make([]byte, 12, 200)
	if len(h.labels) == 0 {
		return append(binary.BigEndian.AppendUint16(f, ethertype), ip...)
	}
	f = binary.BigEndian.AppendUint16(f, 0x8847)
	for i, l := range h.labels {
		entry := l<<12 | 64
		if i == len(h.labels)-1 {
			entry |= 1 << 8
		}
		f = binary.BigEndian.AppendUint32(f, entry)
	}
	return append(f, ip...)
}

func ip4(h header, src, dst netip.Addr, payload []byte) []byte {
	if !src.Is4() {
		return nil
	}
	ip := make([]byte, 20)
	ip[0], ip[1], ip[8], ip[9] = 0x45, h.dscp<<2|h.ecn, 64, h.protocol
	binary.BigEndian.PutUint16(ip[2:], uint16(20+len(payload)))
	binary.BigEndian.PutUint16(ip[6:], h.fragment)
	copy(ip[12:], src.AsSlice())
	copy(ip[16:], dst.AsSlice())
	binary.BigEndian.PutUint16(ip[10:], ^sum16(ip))
	return append(ip, payload...)
}

func ip6(class, next uint8, src, dst netip.Addr, payload []byte) []byte {
	ip := make([]byte, 8, 40)
	ip[0], ip[1], ip[6], ip[7] = 0x60|class>>4, class<<4, next, 64
	binary.BigEndian.PutUint16(ip[4:], uint16(len(payload)))
	ip = append(append(ip, src.AsSlice()...), dst.AsSlice()...)
	return append(ip, payload...)
}

// srv6 puts a packet behind an outer header and a segment routing header (RFC 8754).
func srv6(segments int, inner []byte, inner6 bool) []byte {
	srh := make([]byte, 8+16*segments)
	srh[0], srh[1], srh[2], srh[3], srh[4] = 4, byte(2*segments), 4, byte(segments-1), byte(segments-1)
	if inner6 {
		srh[0] = 41
	}
	return ip6(0, 43, netip.MustParseAddr("fd00::1"), netip.MustParseAddr("fd00::2"), append(srh, inner...))
}

// sum16 is the Internet checksum before its complement.
func sum16(b []byte) uint16 {
	var s uint32
	for i := 0; i+1 < len(b); i += 2 {
		s += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for s>>16 != 0 {
		s = s&0xffff + s>>16
	}
	return uint16(s)
}

func dscps(list ...uint8) uint64 {
	var out uint64
	for _, d := range list {
		out |= 1 << d
	}
	return out
}

// with adds a comparison to a rule.
func with(r Rule, m Match) Rule {
	r.Match = &m
	return r
}

const tcp, udp = 6, 17

func TestRulesOfEveryKind(t *testing.T) {
	any4, any6 := "0.0.0.0/0", "::/0"
	rules := []Rule{
		rule(10, "2001:db8:1::/48", "2001:db8:2::/64", 1, 3),
		with(rule(20, any4, any4, 2, 0), Match{DSCPs: dscps(8, 1)}),
		with(rule(21, any6, any6, 3, 0), Match{DSCPs: dscps(8)}),
		with(rule(30, "192.0.2.0/24", any4, 4, 0), Match{Protocol: tcp, DstPorts: PortRange{873, 873}}),
		with(rule(31, any4, any4, 5, 0), Match{Protocol: udp, SrcPorts: PortRange{5000, 5100}, DstPorts: PortRange{6000, 6063}}),
		rule(40, "192.0.2.0/24", "198.51.100.0/24", 6, 0),
		with(rule(50, "192.0.2.7/32", any4, 7, 0), Match{Protocol: tcp}), // rule 40 is earlier for 198.51.100.0/24
		with(rule(60, any6, "2001:db8:9::/48", 8, 0), Match{Protocol: tcp, SrcPorts: PortRange{443, 443}}),
		with(rule(70, any4, any4, 9, 0), Match{DSCPs: dscps(0, 46)}),
	}
	b := newBench(t, rules, bpf.ClassifierPort{Policy: 1})
	for _, c := range []struct {
		name string
		h    header
		want uint32
	}{
		{"a pair of IPv6 prefixes", header{src: "2001:db8:1::5", dst: "2001:db8:2::9"}, Mark(1, 3)},
		{"the reverse of it", header{src: "2001:db8:2::9", dst: "2001:db8:1::5"}, 0},
		{"a destination just outside", header{src: "2001:db8:1::5", dst: "2001:db8:2:1::9"}, 0},
		{"a DSCP of a set", header{src: "10.0.0.1", dst: "10.0.0.2", dscp: 8}, Mark(2, 0)},
		{"the other one", header{src: "10.0.0.1", dst: "10.0.0.2", dscp: 1, ecn: 3}, Mark(2, 0)},
		{"a DSCP of IPv6", header{src: "fd00::1", dst: "fd00::2", dscp: 8}, Mark(3, 0)},
		{"a DSCP before a pair", header{src: "192.0.2.1", dst: "198.51.100.1", dscp: 8}, Mark(2, 0)},
		{"a pair before a later DSCP", header{src: "192.0.2.1", dst: "198.51.100.1", dscp: 46}, Mark(6, 0)},
		{"a port before a later pair", header{src: "192.0.2.1", dst: "198.51.100.1", protocol: tcp, dport: 873}, Mark(4, 0)},
		{"the port of another protocol", header{src: "192.0.2.1", dst: "198.51.100.1", protocol: udp, dport: 873}, Mark(6, 0)},
		{"first and last of two ranges", header{src: "10.9.0.1", dst: "10.0.0.2", protocol: udp, sport: 5000, dport: 6063, dscp: 3}, Mark(5, 0)},
		{"one range missed", header{src: "10.9.0.1", dst: "10.0.0.2", protocol: udp, sport: 5101, dport: 6063, dscp: 3}, 0},
		{"a later fragment has no ports", header{src: "192.0.2.1", dst: "203.0.113.1", protocol: tcp, dport: 873, fragment: 100, dscp: 3}, 0},
		{"a later fragment still has a protocol", header{src: "192.0.2.7", dst: "203.0.113.1", protocol: tcp, fragment: 100, dscp: 3}, Mark(7, 0)},
		{"a port of IPv6", header{src: "fd00::1", dst: "2001:db8:9::1", protocol: tcp, sport: 443}, Mark(8, 0)},
		{"best effort by DSCP 0", header{src: "10.0.0.1", dst: "10.0.0.2"}, Mark(9, 0)},
		{"a DSCP under labels", header{src: "10.0.0.1", dst: "10.0.0.2", dscp: 8, labels: []uint32{16001, 16002}}, Mark(2, 0)},
		{"IPv6 under a label", header{src: "2001:db8:1::5", dst: "2001:db8:2::9", labels: []uint32{16001}}, Mark(1, 3)},
		{"a port under labels", header{src: "192.0.2.1", dst: "203.0.113.1", protocol: tcp, dport: 873, labels: []uint32{16001}}, Mark(4, 0)},
		{"IPv4 under SRv6", header{src: "192.0.2.1", dst: "198.51.100.1", dscp: 3, segments: 2}, Mark(6, 0)},
		{"IPv6 under SRv6", header{src: "2001:db8:1::5", dst: "2001:db8:2::9", segments: 3}, Mark(1, 3)},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := c.h.frame()
			if got := b.run(b.obj.Ingress, f, skb{}).Mark; got != c.want {
				t.Errorf("mark %#x, want %#x", got, c.want)
			}
		})
	}
}

func TestAMarkIsWrittenAndNothingElse(t *testing.T) {
	remark := func(r Rule, dscp uint8) Rule { r.Remark = RemarkTo(dscp); return r }
	b := newBench(t, []Rule{
		remark(rule(10, "10.0.0.0/8", "0.0.0.0/0", 1, 0), 8),
		remark(rule(11, "fd00::/8", "::/0", 1, 0), 46),
		remark(rule(12, "10.0.0.0/8", "192.0.2.0/24", 1, 0), 0), // never: rule 10 is earlier
		rule(13, "192.0.2.0/24", "0.0.0.0/0", 1, 0),
	}, bpf.ClassifierPort{Policy: 1})
	for _, c := range []struct {
		name string
		in   header
		want uint8
	}{
		{"IPv4 keeps its ECN bits and its checksum is right", header{src: "10.0.0.1", dst: "10.0.0.2", dscp: 0, ecn: 2}, 8},
		{"all bits of the old one go", header{src: "10.0.0.1", dst: "10.0.0.2", dscp: 63, ecn: 1}, 8},
		{"the one it has", header{src: "10.0.0.1", dst: "10.0.0.2", dscp: 8}, 8},
		{"IPv6", header{src: "fd00::1", dst: "fd00::2", dscp: 21, ecn: 3}, 46},
		{"under a label", header{src: "10.0.0.1", dst: "10.0.0.2", labels: []uint32{16001}}, 8},
		{"a rule without a mark is transparent", header{src: "192.0.2.1", dst: "10.0.0.2", dscp: 44, ecn: 1}, 44},
		{"no rule is transparent", header{src: "203.0.113.1", dst: "10.0.0.2", dscp: 44}, 44},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := c.in
			want.dscp = c.want
			_, got, err := b.obj.Ingress.Test(c.in.frame())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.frame(), got); diff != "" {
				t.Errorf("frame (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTermsAndPairsAgreeWithTheSlowWay compares the program with a walk over all rules in their order, both families.
func TestTermsAndPairsAgreeWithTheSlowWay(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	pick := func(list ...int) int { return list[random.IntN(len(list))] }
	address := func(six bool) netip.Addr {
		if six {
			return netip.AddrFrom16([16]byte{0: 0xfd, 7: byte(random.IntN(3)), 15: byte(random.IntN(4))})
		}
		return netip.AddrFrom4([4]byte{10, 0, byte(random.IntN(3)), byte(random.IntN(4))})
	}
	prefix := func(six bool) netip.Prefix {
		bits := pick(0, 22, 24, 31, 32)
		if six {
			bits = pick(0, 48, 63, 64, 127, 128)
		}
		return netip.PrefixFrom(address(six), bits).Masked()
	}
	ports := func() PortRange {
		if random.IntN(2) == 0 {
			return PortRange{}
		}
		first := uint16(1 + random.IntN(4))
		return PortRange{first, first + uint16(random.IntN(3))}
	}
	b := newBench(t, nil, bpf.ClassifierPort{Policy: 1})
	for round := range 20 {
		var rules []Rule
		for i := range 30 {
			six := random.IntN(2) == 0
			r := Rule{Sequence: uint32(i + 1), Src: prefix(six), Dst: prefix(six), Mark: Mark(1+i%MaxClass, i), Counter: i}
			if random.IntN(2) == 0 {
				r.Match = &Match{DSCPs: uint64(pick(0, 0, 1, 2, 3)), Protocol: uint8(pick(0, tcp, udp)), SrcPorts: ports(), DstPorts: ports()}
			}
			rules = append(rules, r)
		}
		b.load(rules)
		for range 100 {
			six := random.IntN(2) == 0
			src, dst := address(six), address(six)
			h := header{src: src.String(), dst: dst.String(), dscp: uint8(random.IntN(3)), protocol: uint8(pick(tcp, udp, 1)), sport: uint16(random.IntN(7)), dport: uint16(random.IntN(7))}
			want := uint32(0)
			for _, r := range rules {
				if slowMatch(r, src, dst, h) {
					want = r.Mark
					break
				}
			}
			if got := b.run(b.obj.Ingress, h.frame(), skb{}).Mark; got != want {
				t.Fatalf("round %d: %+v marked %#x, want %#x", round, h, got, want)
			}
		}
	}
}

func slowMatch(r Rule, src, dst netip.Addr, h header) bool {
	if !r.Src.Contains(src) || !r.Dst.Contains(dst) {
		return false
	}
	m := r.Match
	if m == nil {
		return true
	}
	in := func(p uint16, r PortRange) bool { return r == PortRange{} || p >= r.First && p <= r.Last }
	hasPorts := h.protocol == tcp || h.protocol == udp
	if (m.SrcPorts != PortRange{} || m.DstPorts != PortRange{}) && !hasPorts {
		return false
	}
	return (m.DSCPs == 0 || m.DSCPs>>h.dscp&1 == 1) && (m.Protocol == 0 || m.Protocol == h.protocol) && in(h.sport, m.SrcPorts) && in(h.dport, m.DstPorts)
}

// BenchmarkTerms is the cost of a packet that fits the last of n ordered rules.
func BenchmarkTerms(b *testing.B) {
	for _, n := range []int{8, MaxTerms} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var rules []Rule
			for i := range n {
				rules = append(rules, with(rule(uint32(i+1), "0.0.0.0/0", "0.0.0.0/0", 1, 0), Match{DSCPs: dscps(uint8(i % 40))}))
			}
			rules[n-1].Match.DSCPs = dscps(63)
			x := newBench(b, rules, bpf.ClassifierPort{Policy: 1})
			x.repeat(b, header{src: "10.0.0.0", dst: "198.51.100.1", dscp: 63}.frame())
		})
	}
}
