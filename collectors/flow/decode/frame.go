package decode

import (
	"encoding/binary"
	"time"
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
	switch version := be.Uint16(d); version {
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
		return Header{Version: 5}, &Refusal{Reason: ReasonShort}
	}
	h := Header{
		Version:    5,
		Count:      be.Uint16(d[2:]),
		Uptime:     be.Uint32(d[4:]),
		ExportTime: time.Unix(int64(be.Uint32(d[8:])), int64(be.Uint32(d[12:])%1e9)).UTC(),
		Sequence:   be.Uint32(d[16:]),
		Domain:     uint32(be.Uint16(d[20:])),
		// The two upper bits are the mode, which does not matter for counting.
		SamplingRate: uint64(be.Uint16(d[22:]) & 0x3fff),
	}
	return h, exact(len(d), v5Header+v5Record*int(h.Count))
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
		return Header{Version: 9}, &Refusal{Reason: ReasonShort}
	}
	h := Header{
		Version:    9,
		Uptime:     be.Uint32(d[4:]),
		ExportTime: time.Unix(int64(be.Uint32(d[8:])), 0).UTC(),
		Sequence:   be.Uint32(d[12:]),
		Domain:     be.Uint32(d[16:]),
	}
	return h, checkSets(d[v9Header:])
}

func parseIPFIX(d []byte) (Header, error) {
	if len(d) < ipfixHeader {
		return Header{Version: 10}, &Refusal{Reason: ReasonShort}
	}
	h := Header{
		Version:    10,
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
// header of four bytes.
func checkSets(d []byte) error {
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
		d = d[n:]
	}
	return nil
}
