package decode

import (
	"bytes"
	"encoding/binary"
	"time"

	"github.com/millrace/millrace/internal/flowrecord"
)

const (
	v5Header, v5Record = 24, 48
	v9Header           = 20
	ipfixHeader        = 16
	setHeader          = 4
)

var be = binary.BigEndian

// ParseHeader reads the header and checks that every length in the datagram is
// true, so that decoders behind it never see half a record.
func ParseHeader(d []byte) (Header, error) {
	if len(d) < 2 {
		return Header{}, &Refusal{Reason: ReasonShort}
	}
	switch be.Uint16(d) {
	case 0: // sFlow's version has four bytes
		return parseSFlow(d)
	case 5:
		return parseV5(d)
	case 9:
		return parseV9(d)
	case 10:
		return parseIPFIX(d)
	}
	return Header{}, &Refusal{Reason: ReasonVersion}
}

func parseV5(d []byte) (Header, error) {
	if len(d) < v5Header {
		return Header{Source: flowrecord.NetFlowV5}, &Refusal{Reason: ReasonShort}
	}
	h := Header{
		Source:     flowrecord.NetFlowV5,
		Count:      be.Uint16(d[2:]),
		Uptime:     be.Uint32(d[4:]),
		ExportTime: time.Unix(int64(be.Uint32(d[8:])), int64(be.Uint32(d[12:])%1e9)).UTC(),
		Sequence:   be.Uint32(d[16:]),
		Domain:     uint32(be.Uint16(d[20:])),
		// The two upper bits are the mode, which does not matter for counting.
		SamplingRate: uint64(be.Uint16(d[22:]) & 0x3fff),
	}
	if err := exact(len(d), v5Header+v5Record*int(h.Count)); err != nil {
		return h, err
	}
	if h.Count == 0 {
		return h, &Refusal{Reason: ReasonEmpty}
	}
	return h, nil
}

func exact(have, promised int) error {
	switch {
	case have < promised:
		return &Refusal{Reason: ReasonTruncated}
	case have > promised:
		return &Refusal{Reason: ReasonOversized}
	}
	return nil
}

func parseV9(d []byte) (Header, error) {
	if len(d) < v9Header {
		return Header{Source: flowrecord.NetFlowV9}, &Refusal{Reason: ReasonShort}
	}
	h := Header{
		Source:     flowrecord.NetFlowV9,
		Uptime:     be.Uint32(d[4:]),
		ExportTime: time.Unix(int64(be.Uint32(d[8:])), 0).UTC(),
		Sequence:   be.Uint32(d[12:]),
		Domain:     be.Uint32(d[16:]),
	}
	return h, checkSets(v9Sets(d))
}

// v9Sets is the datagram without its header and without zeros behind its last set. v9 does not say its own length, so
// that some exporters (Cisco ACI, PAN-OS) send a buffer of one size whatever is in it.
func v9Sets(d []byte) []byte {
	sets := d[v9Header:]
	for at := 0; at+setHeader <= len(sets); {
		n := int(be.Uint16(sets[at+2:]))
		if n < setHeader {
			return withoutZeros(sets, at)
		}
		if at += n; at > len(sets) {
			return sets
		}
		if len(sets)-at < setHeader {
			return withoutZeros(sets, at)
		}
	}
	return sets
}

// withoutZeros cuts d at a place behind which there are only zeros.
func withoutZeros(d []byte, at int) []byte {
	if len(bytes.Trim(d[at:], "\x00")) == 0 {
		return d[:at]
	}
	return d
}

func parseIPFIX(d []byte) (Header, error) {
	if len(d) < ipfixHeader {
		return Header{Source: flowrecord.IPFIX}, &Refusal{Reason: ReasonShort}
	}
	h := Header{
		Source:     flowrecord.IPFIX,
		ExportTime: time.Unix(int64(be.Uint32(d[4:])), 0).UTC(),
		Sequence:   be.Uint32(d[8:]),
		Domain:     be.Uint32(d[12:]),
	}
	if err := exact(len(d), int(be.Uint16(d[2:]))); err != nil {
		return h, err
	}
	return h, checkSets(d[ipfixHeader:])
}

// checkSets walks over the sets. RFC 3954 and 7011: a set's length includes its
// header of four bytes. A datagram with empty sets has no records; the
// sender of a forged one must not even with that affect an exporter's health.
func checkSets(d []byte) error {
	empty := true
	for len(d) > 0 {
		if len(d) < setHeader {
			return &Refusal{Reason: ReasonTruncated}
		}
		n := int(be.Uint16(d[2:]))
		switch {
		case n < setHeader:
			return &Refusal{Reason: ReasonMalformed}
		case n > len(d):
			return &Refusal{Reason: ReasonTruncated}
		}
		empty = empty && n == setHeader
		d = d[n:]
	}
	if empty {
		return &Refusal{Reason: ReasonEmpty}
	}
	return nil
}
