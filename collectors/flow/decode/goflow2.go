package decode

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"net/netip"

	"github.com/netsampler/goflow2/v2/decoders/netflow"
	"github.com/netsampler/goflow2/v2/decoders/netflowlegacy"

	"github.com/millrace/millrace/internal/flowrecord"
)

// GoFlow2 decodes with the goflow2 project's decoders.
type GoFlow2 struct{}

// Decode implements Decoder. Whatever the third-party code does to a hostile
// datagram ends here as a Refusal.
func (GoFlow2) Decode(datagram []byte, h Header, t *Templates, m *Message) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &Refusal{Reason: ReasonPanic, Err: fmt.Errorf("%v", r)}
		}
	}()
	if h.Version == 5 {
		return decodeV5(datagram, m)
	}
	return decodeSets(datagram, h, t, m)
}

func decodeV5(datagram []byte, m *Message) error {
	var p netflowlegacy.PacketNetFlowV5
	if err := netflowlegacy.DecodeMessageVersion(bytes.NewBuffer(datagram), &p); err != nil {
		return &Refusal{Reason: ReasonMalformed, Err: err}
	}
	for i := range p.Records {
		r := &p.Records[i]
		m.Flows = append(m.Flows, Flow{
			Relative: true, First: r.First, Last: r.Last,
			Record: flowrecord.Record{
				Src: v5Addr(r.SrcAddr), Dst: v5Addr(r.DstAddr), SrcPort: r.SrcPort, DstPort: r.DstPort,
				Protocol: r.Proto, TOS: r.Tos, TCPFlags: uint16(r.TCPFlags),
				InIf: uint32(r.Input), OutIf: uint32(r.Output),
				Bytes: uint64(r.DOctets), Packets: uint64(r.DPkts),
			},
		})
	}
	return nil
}

func v5Addr(a netflowlegacy.IPAddress) netip.Addr {
	var b [4]byte
	be.PutUint32(b[:], uint32(a))
	return netip.AddrFrom4(b)
}

// decodeSets gives goflow2 the sets only. Its own header function stops after
// as many sets as the v9 header counts records, and softflowd counts its flows
// there but not its templates, so that flows behind templates would be lost.
func decodeSets(datagram []byte, h Header, t *Templates, m *Message) error {
	var body []byte
	size := uint16(math.MaxUint16)
	if h.Version == 10 {
		body = datagram[ipfixHeader:]
		size = uint16(len(body))
	} else {
		body = v9Sets(datagram)
	}
	sets, err := netflow.DecodeMessageCommon(bytes.NewBuffer(body), goflow2Templates{t}, h.Domain, size, h.Version)
	for _, s := range sets {
		takeSet(s, m)
	}
	m.BadTemplates += t.takeRefused()
	if err != nil && !errors.Is(err, netflow.ErrorTemplateNotFound) {
		return &Refusal{Reason: ReasonMalformed, Err: err}
	}
	return nil
}

func takeSet(set any, m *Message) {
	switch s := set.(type) {
	case netflow.DataFlowSet:
		for i := range s.Records {
			takeRecord(s.Records[i].Values, m)
		}
	case netflow.OptionsDataFlowSet:
		m.OptionRecords += len(s.Records)
		for i := range s.Records {
			takeOptions(s.Records[i], m)
		}
	case netflow.RawFlowSet: // goflow2's way to hand back what has no template
		m.NoTemplate++
	}
}
