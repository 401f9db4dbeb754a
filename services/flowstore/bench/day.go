package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/millrace/millrace/internal/flowrecord"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

const (
	// exporters send in turn.
	exporters = 8
	// hosts on each side: in 512 networks of 24 bits, so that there are 262,144 pairs of them.
	hosts = 1 << 17
	// alphaBytes and alphaEvery: one flow in so many is an alpha flow, within one minute.
	alphaBytes, alphaEvery = 3e9, 100_000
	minBytes               = 1_000_000_000
)

// begins is the day.
var begins = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)

// maker makes the records up, in the order in which routers would report them.
type maker struct {
	rng                 *rand.Rand
	zipf                *rand.Zipf // nil: all hosts are alike
	all, perBatch, made int
}

func newMaker(o options) *maker {
	m := &maker{rng: rand.New(rand.NewPCG(1, 2)), all: o.records, perBatch: o.batch}
	if o.zipf {
		m.zipf = rand.NewZipf(m.rng, 1.1, 8, hosts-1)
	}
	return m
}

// batch is the next message of a collector; nil after the last one.
func (m *maker) batch() (exporter string, b *flowv1.FlowBatch) {
	n := min(m.perBatch, m.all-m.made)
	if n == 0 {
		return "", nil
	}
	from := m.exporter()
	block := &flowrecord.Block{}
	for range n {
		r := m.record(from)
		block.Append(&r)
		m.made++
	}
	return from.String(), &flowv1.FlowBatch{BatchId: fmt.Sprint("bench-", m.made), Block: block.AppendNative(nil)}
}

// exporter of the batch that is being made.
func (m *maker) exporter() netip.Addr {
	return netip.AddrFrom4([4]byte{192, 0, 2, byte(m.made/m.perBatch%exporters) + 1})
}

func (m *maker) record(from netip.Addr) flowrecord.Record {
	lasted := time.Duration(m.rng.IntN(90_000)) * time.Millisecond
	ended := begins.Add(90*time.Second + time.Duration(float64(m.made)/float64(m.all)*float64(24*time.Hour-100*time.Second)))
	ended = ended.Add(-time.Duration(m.rng.IntN(500)) * time.Millisecond)
	r := flowrecord.Record{
		Exporter: from, Domain: 1, Start: ended.Add(-lasted).Truncate(time.Millisecond), End: ended.Truncate(time.Millisecond),
		Src: m.host(10), Dst: m.host(11), SrcPort: uint16(m.rng.Uint32N(28_000) + 32_768), DstPort: 443, Protocol: 6, TCPFlags: 0x1b,
		InIf: m.rng.Uint32N(8) + 1, OutIf: m.rng.Uint32N(8) + 1, Bytes: m.rng.Uint64N(1e6) + 40, SamplingRate: 1, Source: flowrecord.NetFlowV9,
	}
	if m.rng.IntN(alphaEvery) == 0 {
		r.Bytes, r.Start = alphaBytes+m.rng.Uint64N(1e9), r.End.Truncate(time.Minute)
	}
	r.Packets = r.Bytes/1000 + 1
	return r
}

func (m *maker) host(first byte) netip.Addr {
	n := m.rng.Uint32N(hosts)
	if m.zipf != nil {
		n = uint32(m.zipf.Uint64()) * 2654435761 % hosts // so that neighbours are not equally busy
	}
	var raw [4]byte
	binary.BigEndian.PutUint32(raw[:], n)
	raw[0] = first
	return netip.AddrFrom4(raw)
}
