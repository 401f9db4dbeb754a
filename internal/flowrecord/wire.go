package flowrecord

import (
	"net/netip"
	"slices"
	"time"
)

// Tags of millrace.flow.v1.FlowRecord: field number and wire type. The test compares with what protobuf itself writes.
const (
	varint = 0
	length = 2

	tagExporter = 1<<3 | length
	tagDomain   = 2<<3 | varint
	tagStart    = 3<<3 | length
	tagEnd      = 4<<3 | length
	tagSrc      = 5<<3 | length
	tagDst      = 6<<3 | length
	tagSrcPort  = 7<<3 | varint
	tagDstPort  = 8<<3 | varint
	tagProtocol = 9<<3 | varint
	tagTOS      = 10<<3 | varint
	tagTCPFlags = 11<<3 | varint
	tagInIf     = 12<<3 | varint
	tagOutIf    = 13<<3 | varint
	tagBytes    = 14<<3 | varint
	tagPackets  = 15<<3 | varint
	// From field 16 on a tag has two bytes.
	tagSamplingRate = 16<<3 | varint
	tagSource       = 17<<3 | varint

	tagSeconds     = 1<<3 | varint // of google.protobuf.Timestamp
	tagNanoseconds = 2<<3 | varint
	tagRecords     = 2<<3 | length // of FlowBatch
)

// maxWire is more than a record takes: 168 bytes where every field is as long as it may be, and its tag and length.
const maxWire = 192

// AppendWire appends the record as an element of FlowBatch.records, byte for byte what protobuf writes. A collector
// writes hundreds of thousands of them per second, and ToProto makes six objects of each.
func (r *Record) AppendWire(b []byte) []byte {
	b = slices.Grow(b, maxWire)
	w := wire{b: b[len(b) : len(b)+maxWire], n: 2}
	w.b[0] = tagRecords
	r.fields(&w)
	n := w.n - 2
	if n >= 0x80 { // the length has two bytes
		copy(w.b[3:], w.b[2:w.n])
		w.b[2] = byte(n >> 7)
		w.n, n = w.n+1, n|0x80
	}
	w.b[1] = byte(n)
	return b[:len(b)+w.n]
}

func (r *Record) fields(w *wire) {
	w.addr(tagExporter, r.Exporter)
	w.number(tagDomain, uint64(r.Domain))
	w.time(tagStart, r.Start)
	w.time(tagEnd, r.End)
	w.addr(tagSrc, r.Src)
	w.addr(tagDst, r.Dst)
	w.number(tagSrcPort, uint64(r.SrcPort))
	w.number(tagDstPort, uint64(r.DstPort))
	w.number(tagProtocol, uint64(r.Protocol))
	w.number(tagTOS, uint64(r.TOS))
	w.number(tagTCPFlags, uint64(r.TCPFlags))
	w.number(tagInIf, uint64(r.InIf))
	w.number(tagOutIf, uint64(r.OutIf))
	w.number(tagBytes, r.Bytes)
	w.number(tagPackets, r.Packets)
	w.number(tagSamplingRate, r.SamplingRate)
	w.number(tagSource, uint64(r.Source))
}

// wire is a record while it is written.
type wire struct {
	b []byte
	n int
}

// number leaves out 0, as proto3 does.
func (w *wire) number(tag uint32, v uint64) {
	if v == 0 {
		return
	}
	n := w.n
	if tag < 0x80 {
		w.b[n] = byte(tag)
		n++
	} else {
		w.b[n], w.b[n+1] = byte(tag)|0x80, byte(tag>>7)
		n += 2
	}
	for v >= 0x80 {
		w.b[n] = byte(v) | 0x80
		v >>= 7
		n++
	}
	w.b[n] = byte(v)
	w.n = n + 1
}

func (w *wire) addr(tag byte, a netip.Addr) {
	b := w.b[w.n:]
	switch {
	case a.Is4():
		raw := a.As4()
		b[0], b[1] = tag, 4
		w.n += 2 + copy(b[2:], raw[:])
	case a.Is6():
		raw := a.As16()
		b[0], b[1] = tag, 16
		w.n += 2 + copy(b[2:], raw[:])
	}
}

// time writes at most 17 bytes behind tag and length.
func (w *wire) time(tag byte, t time.Time) {
	at := w.n
	w.b[at] = tag
	w.n += 2
	w.number(tagSeconds, uint64(t.Unix()))
	w.number(tagNanoseconds, uint64(t.Nanosecond()))
	w.b[at+1] = byte(w.n - at - 2)
}
