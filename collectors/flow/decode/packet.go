package decode

import "net/netip"

// packet is the beginning of a sampled packet, while its headers are read into f.
type packet struct {
	f *Flow
	b []byte
	// left is how many bytes the packet had on the wire from here on; the checksum of the frame is among the bytes that
	// agents say they stripped.
	left int64
}

func (p *packet) skip(n int) (ok bool) {
	if len(p.b) < n {
		return false
	}
	p.b, p.left = p.b[n:], p.left-int64(n)
	return true
}

// Types of Ethernet frames (IANA's registry of ETHER TYPES).
const (
	typeIPv4     = 0x0800
	typeVLAN     = 0x8100
	typeIPv6     = 0x86dd
	typeMPLS     = 0x8847
	typeProvider = 0x88a8 // IEEE 802.1ad
	typeQinQ     = 0x9100
)

func (p *packet) ethernet() (isIP bool) {
	const addresses = 12
	if !p.skip(addresses) {
		return false
	}
	for len(p.b) >= 2 {
		kind := be.Uint16(p.b)
		p.skip(2)
		switch kind {
		case typeVLAN, typeProvider, typeQinQ:
			if !p.skip(2) {
				return false
			}
		case typeIPv4, typeIPv6:
			return p.ip()
		case typeMPLS:
			return p.mpls()
		default:
			return false
		}
	}
	return false
}

// mpls goes behind the label stack; what stands there is IP if its first four bits say so (RFC 4928 section 3), and it
// is no longer than the frame: of Ethernet in a pseudowire without a control word these are those of a MAC address.
func (p *packet) mpls() (isIP bool) {
	for len(p.b) >= 4 {
		bottom := p.b[2]&1 != 0
		p.skip(4)
		if bottom {
			return p.fits() && p.ip()
		}
	}
	return false
}

// tags is by how much an agent's length of the frame may be too short, in octets: some leave out VLAN tags and labels.
const tags = 64

// within is a length that an IP header says, if the frame has room for it, else what there is room for: a host can
// send headers that say more, through a switch that samples them.
func (p *packet) within(length int64) uint64 {
	if p.hasRoom(length) {
		return uint64(length)
	}
	return uint64(p.left)
}

// hasRoom reports whether an IP packet of a length can be in the frame; always, where the agent says nothing of it that
// can be.
func (p *packet) hasRoom(length int64) bool { return p.left <= 0 || length <= p.left+tags }

// fits reports whether what stands here can be an IP packet by its lengths.
func (p *packet) fits() bool {
	b := p.b
	switch {
	case len(b) >= 20 && b[0]>>4 == 4:
		total := int64(be.Uint16(b[2:]))
		return b[0]&15 >= 5 && (total == 0 || total >= 20) && p.hasRoom(total)
	case len(b) >= 40 && b[0]>>4 == 6:
		return p.hasRoom(40 + int64(be.Uint16(b[4:])))
	}
	return false
}

func (p *packet) ip() (isIP bool) {
	if len(p.b) == 0 {
		return false
	}
	switch p.b[0] >> 4 {
	case 4:
		return p.ipv4()
	case 6:
		return p.ipv6()
	}
	return false
}

// ipv4 counts the octets of the IP packet, as NetFlow does. A total length of 0 is one that the network card fills in
// (segmentation offload).
func (p *packet) ipv4() bool {
	b := p.b
	if len(b) < 20 {
		return false
	}
	rec := &p.f.Record
	rec.Bytes, rec.TOS, rec.Protocol = p.within(int64(be.Uint16(b[2:]))), b[1], b[9]
	rec.Src, rec.Dst = netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:]))
	if rec.Bytes == 0 {
		rec.Bytes = uint64(max(p.left, 0))
	}
	const offset = 0x1fff
	if header := int(b[0]&15) * 4; be.Uint16(b[6:])&offset == 0 && header >= 20 && p.skip(header) {
		p.ports()
	}
	return true
}

func (p *packet) ipv6() bool {
	b := p.b
	if len(b) < 40 {
		return false
	}
	rec := &p.f.Record
	rec.Bytes, rec.TOS, rec.Protocol = p.within(40+int64(be.Uint16(b[4:]))), uint8(be.Uint16(b)>>4), b[6]
	rec.Src, rec.Dst = netip.AddrFrom16([16]byte(b[8:])).Unmap(), netip.AddrFrom16([16]byte(b[24:])).Unmap()
	rec.FlowLabel = be.Uint32(b) & 0xfffff
	if rec.Bytes == 40 && p.left > 40 { // a jumbogram, or segmentation offload
		rec.Bytes = uint64(p.left)
	}
	p.skip(40)
	if p.extensions() {
		p.ports()
	}
	return true
}

// Protocol numbers that headers are read of.
const (
	icmpProtocol = 1
	tcpProtocol  = 6
	udpProtocol  = 17
	icmpv6       = 58
	sctpProtocol = 132
	dccpProtocol = 33
	udpLite      = 136
	hopByHop     = 0
	routing      = 43
	fragment     = 44
	destination  = 60
	authenticate = 51
)

// extensions skips the extension headers (RFC 8200 section 4) and reports whether the transport's header is there.
func (p *packet) extensions() bool {
	rec := &p.f.Record
	for len(p.b) >= 8 {
		next, length := p.b[0], 8*(int(p.b[1])+1)
		switch rec.Protocol {
		case hopByHop, routing, destination:
		case fragment:
			length = 8
			if offset := be.Uint16(p.b[2:]) &^ 7; offset != 0 {
				rec.Protocol = next
				return false
			}
		case authenticate:
			length = 4 * (int(p.b[1]) + 2)
		default:
			return true
		}
		rec.Protocol = next
		if !p.skip(length) {
			return false
		}
	}
	return true
}

func (p *packet) ports() {
	rec := &p.f.Record
	switch rec.Protocol {
	case tcpProtocol, udpProtocol, sctpProtocol, dccpProtocol, udpLite:
		if len(p.b) >= 4 {
			rec.SrcPort, rec.DstPort = be.Uint16(p.b), be.Uint16(p.b[2:])
		}
		if rec.Protocol == tcpProtocol && len(p.b) >= 14 {
			rec.TCPFlags = be.Uint16(p.b[12:]) & 0xfff
		}
	case icmpProtocol, icmpv6:
		if len(p.b) >= 2 {
			rec.DstPort = be.Uint16(p.b) // type and code, as NetFlow v5 has them
		}
	}
}
