package flow

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"github.com/millrace/millrace/collectors/flow/exporter"
)

// A worker keeps the memory of a read, which is bounded however many records its datagrams hold.
func TestAReadOfManyRecordsIsBounded(t *testing.T) {
	r := newRig(t, nil)
	const records = 7200
	template := words(0, 20, 256, 3, 8, 4, 12, 4, 1, 1)
	data := append(words(256, 4+9*records), bytes.Repeat([]byte{10, 0, 0, 1, 10, 0, 0, 2, 100}, records)...)
	var in []exporter.Datagram
	for i := range readBatch {
		in = append(in, exporter.Datagram{From: netip.MustParseAddrPort("192.0.2.1:4000"), Payload: netflow9(uint32(i), template, data)})
	}
	kept := r.comp.take(0, in, time.Now(), nil)
	if cap(kept) > 2*readRecords {
		t.Errorf("there is room for %d records, want at most %d", cap(kept), 2*readRecords)
	}
	var got uint64
	for _, q := range r.quality().GetExporters() {
		got += q.GetRecords()
	}
	if got != readBatch*records {
		t.Errorf("%d records are counted, want %d", got, readBatch*records)
	}
}
