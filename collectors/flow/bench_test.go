package flow

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"github.com/millrace/millrace/collectors/flow/exporter"
	"github.com/millrace/millrace/internal/flowrecord"
)

// BenchmarkDatagram is what a core does per flow of a real softflowd datagram,
// stage by stage; `go run ./collectors/flow/bench` measures the whole with sockets.
func BenchmarkDatagram(b *testing.B) {
	all := capture(b, "9-s1")
	table := exporter.NewTable(exporter.DefaultConfiguration(), nil, 1)
	from := netip.MustParseAddrPort("192.0.2.1:4000")
	now := time.Now()
	table.Take([]exporter.Datagram{{From: from, Payload: all[0]}}, now, nil)
	d := all[0]
	var out []flowrecord.Record
	sequence := uint32(10)
	next := func() {
		sequence++
		binary.BigEndian.PutUint32(d[12:], sequence)
		out = table.Take([]exporter.Datagram{{From: from, Payload: d}}, now, out[:0])
	}
	next()
	records := len(out)
	if records == 0 {
		b.Fatal("no records")
	}
	report := func(b *testing.B) {
		b.ReportMetric(float64(b.N*records)/b.Elapsed().Seconds(), "flows/s")
	}
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			next()
		}
		report(b)
	})
	block := &flowrecord.Block{}
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			block.Reset()
			for i := range out {
				block.Append(&out[i])
			}
		}
		report(b)
	})
}
