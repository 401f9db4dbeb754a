package datapath

import (
	"math/rand/v2"
	"net/netip"
	"testing"
)

// frame6 is an Ethernet frame with an IPv6 header and a payload.
func frame6(src, dst netip.Addr, payload []byte) []byte {
	f := []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xdd, 0x60, 0, 0, 0, byte(len(payload) >> 8), byte(len(payload)), 17, 64}
	s, d := src.As16(), dst.As16()
	return append(append(append(f, s[:]...), d[:]...), payload...)
}

func TestIPv6PacketsFindTheirFlow(t *testing.T) {
	d := open(t, pe1, EDT, 64)
	lengths := Lengths{IPv4: []int{16}}
	for p, flow := range map[string]uint32{"10.2.0.0/16": 4, "2001:db8::/32": 5, "2001:db8:2::/48": 6, "2001:db8:2:3::/64": 7, "2001:db8:2:3::4/128": 8} {
		prefix := netip.MustParsePrefix(p)
		lengths.Add(prefix)
		if err := d.SetPrefix(9, prefix, flow); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.SetPort(1, 9, lengths); err != nil {
		t.Fatal(err)
	}
	from := addr("2001:db8:1::1")
	for _, c := range []struct {
		name   string
		packet []byte
		want   uint32
	}{
		{"a host route of four prefixes", frame6(from, addr("2001:db8:2:3::4"), nil), 9},
		{"the prefix of its site's network", frame6(from, addr("2001:db8:2:3::5"), nil), 8},
		{"the prefix of its site", frame6(from, addr("2001:db8:2:4::4"), nil), 7},
		{"the shortest prefix", frame6(from, addr("2001:db8:ffff::"), nil), 6},
		{"no prefix", frame6(from, addr("2001:db9::1"), nil), 0},
		{"IPv4 beside it", frame(addr("10.1.0.1"), addr("10.2.0.1"), nil), 5},
		{"IPv6 of an IPv4 prefix", frame6(from, addr("::ffff:10.2.0.1"), nil), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if v, out, _ := run(t, d.CustomerIn, c.packet, skb{Mark: 0x3}); v != unspec || out.Mark != c.want {
				t.Errorf("verdict %d, mark %#x, want %#x", v, out.Mark, c.want)
			}
		})
	}
	run(t, d.CustomerOut, frame6(addr("2001:db8:2:3::4"), from, make([]byte, 100)), skb{})
	if got := d.Received[8]; got.Packets != 1 || got.Octets != 154 {
		t.Errorf("received %+v of flow 8, want a packet of 154", got)
	}
	if err := d.RemovePrefix(9, netip.MustParsePrefix("2001:db8:2:3::4/128")); err != nil {
		t.Fatal(err)
	}
	if _, out, _ := run(t, d.CustomerIn, frame6(from, addr("2001:db8:2:3::4"), nil), skb{}); out.Mark != 8 {
		t.Errorf("mark %#x after the host route went, want that of its network, 8", out.Mark)
	}
}

// TestIPv6LongestPrefixAgainstTheSlowWay compares with a walk over all prefixes, at every length.
func TestIPv6LongestPrefixAgainstTheSlowWay(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	d := open(t, pe1, EDT, 1024)
	// Few distinct addresses, so that prefixes hold one another; lengths around the words' borders, too.
	some := func() netip.Addr {
		b := [16]byte{0x20, 1, 0xd, 0xb8, 7: byte(random.IntN(3)), 8: byte(random.IntN(2)), 12: byte(random.IntN(3)), 15: byte(random.IntN(4))}
		return netip.AddrFrom16(b)
	}
	known := map[netip.Prefix]uint32{}
	var lengths Lengths
	for flow := range uint32(200) {
		p := netip.PrefixFrom(some(), []int{0, 1, 32, 63, 64, 65, 96, 100, 127, 128}[random.IntN(10)]).Masked()
		if _, ok := known[p]; ok {
			continue
		}
		known[p] = flow
		lengths.Add(p)
		if err := d.SetPrefix(1, p, flow); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.SetPort(1, 1, lengths); err != nil {
		t.Fatal(err)
	}
	for range 500 {
		a := some()
		var want uint32
		longest := -1
		for p, flow := range known {
			if p.Contains(a) && p.Bits() > longest {
				longest, want = p.Bits(), flow+1
			}
		}
		if _, out, _ := run(t, d.CustomerIn, frame6(a, a, nil), skb{}); out.Mark != want {
			t.Fatalf("%s: mark %d, want %d", a, out.Mark, want)
		}
	}
}
