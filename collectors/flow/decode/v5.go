package decode

import (
	"net/netip"

	"github.com/millrace/millrace/internal/flowrecord"
)

// v5 reads the records, whose number ParseHeader has compared with the datagram's length.
func (m *Message) v5(d []byte) {
	for b := d[v5Header:]; len(b) >= v5Record; b = b[v5Record:] {
		m.Records++
		m.Flows = append(m.Flows, Flow{
			Relative: true, First: be.Uint32(b[24:]), Last: be.Uint32(b[28:]),
			Record: flowrecord.Record{
				Src: netip.AddrFrom4([4]byte(b)), Dst: netip.AddrFrom4([4]byte(b[4:])),
				InIf: uint32(be.Uint16(b[12:])), OutIf: uint32(be.Uint16(b[14:])),
				Packets: uint64(be.Uint32(b[16:])), Bytes: uint64(be.Uint32(b[20:])),
				SrcPort: be.Uint16(b[32:]), DstPort: be.Uint16(b[34:]),
				TCPFlags: uint16(b[37]), Protocol: b[38], TOS: b[39],
			},
		})
	}
}
