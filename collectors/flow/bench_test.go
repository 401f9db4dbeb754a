package flow

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/collectors/flow/exporter"
	"github.com/millrace/millrace/collectors/flow/worker"
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

// BenchmarkWorkers is what several workers do at once, each with exporters of its own, from the datagram to the block
// and without sockets: whether what they share keeps one of them waiting for another.
func BenchmarkWorkers(b *testing.B) {
	for n := 1; n <= runtime.GOMAXPROCS(0); n *= 2 {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			table := exporter.NewTable(exporter.DefaultConfiguration(), nil, n)
			workers := benchWorkers(b, table, n)
			records := workers[0].take()
			var all sync.WaitGroup
			b.ResetTimer()
			for _, w := range workers {
				all.Go(func() {
					for range b.N {
						w.take()
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(n*b.N*records)/b.Elapsed().Seconds(), "flows/s")
		})
	}
}

// benchWorker sends itself datagrams of its exporters in turns.
type benchWorker struct {
	table     *exporter.Table
	exporters []netip.AddrPort
	datagram  []byte
	sequence  uint32
	out       []flowrecord.Record
	block     flowrecord.Block
	now       time.Time
}

func benchWorkers(b *testing.B, table *exporter.Table, n int) []*benchWorker {
	all := make([]*benchWorker, n)
	for i := range all {
		all[i] = &benchWorker{table: table, datagram: slices.Clone(capture(b, "9-s1")[0]), sequence: 10, now: time.Now()}
	}
	const each = 16
	for a, missing := netip.MustParseAddr("192.0.2.0"), n*each; missing > 0; a = a.Next() {
		if w := all[worker.Of(a, n)]; len(w.exporters) < each {
			w.exporters = append(w.exporters, netip.AddrPortFrom(a, 4000))
			missing--
		}
	}
	for _, w := range all { // each exporter's template
		for range w.exporters {
			w.take()
		}
	}
	return all
}

// take is how many records the next datagram has.
func (w *benchWorker) take() int {
	w.sequence++
	binary.BigEndian.PutUint32(w.datagram[12:], w.sequence/uint32(len(w.exporters)))
	from := w.exporters[int(w.sequence)%len(w.exporters)]
	w.out = w.table.Take([]exporter.Datagram{{From: from, Payload: w.datagram}}, w.now, w.out[:0])
	w.block.Reset()
	for i := range w.out {
		w.block.Append(&w.out[i])
	}
	return len(w.out)
}
