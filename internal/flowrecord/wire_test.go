package flowrecord

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// anyRecord makes a record with fields of every size, 0 among them.
func anyRecord(rng *rand.Rand) Record {
	n := func() uint64 { return rng.Uint64() >> rng.IntN(64) * uint64(rng.IntN(4)) }
	addr := func() netip.Addr {
		var raw [16]byte
		binary.BigEndian.PutUint64(raw[rng.IntN(9):], rng.Uint64())
		return []netip.Addr{{}, netip.AddrFrom4([4]byte(raw[8:])), netip.AddrFrom16(raw)}[rng.IntN(3)]
	}
	at := func() time.Time { return time.Unix(int64(n()>>30)-1e9, int64(n()%1e9)) }
	return Record{
		Exporter: addr(), Domain: uint32(n()), Start: at(), End: at(), Src: addr(), Dst: addr(), SrcPort: uint16(n()), DstPort: uint16(n()),
		Protocol: uint8(n()), TOS: uint8(n()), TCPFlags: uint16(n()), InIf: uint32(n()), OutIf: uint32(n()), Bytes: n(), Packets: n(),
		SamplingRate: n(), Source: Source(n() % 8),
	}
}

// TestWireIsProtobuf: batches written with AppendWire are the bytes that protobuf writes.
func TestWireIsProtobuf(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	long := record()
	long.Exporter, long.Domain, long.InIf, long.OutIf = long.Src, 1<<32-1, 1<<32-1, 1<<32-1
	long.Bytes, long.Packets, long.SamplingRate = 1<<64-1, 1<<64-1, 1<<64-1
	for i := range 5000 {
		records := []Record{long, anyRecord(rng), anyRecord(rng)}[i%2 : 2+i%2]
		want := &flowv1.FlowBatch{BatchId: "a"}
		got, err := proto.Marshal(&flowv1.FlowBatch{BatchId: "a"})
		if err != nil {
			t.Fatal(err)
		}
		for i := range records {
			want.Records = append(want.Records, records[i].ToProto())
			got = records[i].AppendWire(got)
		}
		raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, raw) {
			t.Fatalf("%+v\n%x, protobuf writes\n%x", records, got, raw)
		}
	}
}

func BenchmarkAppendWire(b *testing.B) {
	r := record()
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		out = r.AppendWire(out[:0])
	}
}
