package alpha

import (
	"net/netip"

	"github.com/millrace/millrace/internal/flowrecord"
	"github.com/millrace/millrace/services/alpha/detect"
)

// flows are the records of a message of topic millrace.flows.v1 that can be read, and how many cannot.
func flows(raw []byte) (id string, records []detect.Record, refused int, err error) {
	b, err := flowrecord.DecodeBatch(raw)
	if err != nil {
		return "", nil, 0, err
	}
	records = make([]detect.Record, 0, b.Block.Rows())
	for r := range b.Records() {
		records = append(records, recordOf(r))
	}
	if id = b.ID; id == "" { // the content stands in for it, as in the flow store
		id = string(raw)
	}
	return id, records, b.Refused, nil
}

func recordOf(r *flowrecord.Record) detect.Record {
	return detect.Record{
		Exporter: r.Exporter, Start: r.Start, End: r.End, Bytes: r.Bytes, Packets: r.Packets, SamplingRate: r.SamplingRate,
		Flow: detect.Flow{
			Src: netip.AddrPortFrom(r.Src, r.SrcPort), Dst: netip.AddrPortFrom(r.Dst, r.DstPort), Protocol: r.Protocol, InIf: r.InIf,
		},
	}
}
