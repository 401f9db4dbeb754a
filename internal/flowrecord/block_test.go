package flowrecord

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	chproto "github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2/lib/proto"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	protobuf "google.golang.org/protobuf/proto"

	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// anyRecord makes a record with fields of every size, 0 among them.
func anyRecord(rng *rand.Rand) Record {
	n := func() uint64 { return rng.Uint64() >> rng.IntN(64) * uint64(rng.IntN(4)) }
	addr := func() netip.Addr {
		var raw [16]byte
		binary.BigEndian.PutUint64(raw[rng.IntN(9):], rng.Uint64())
		return []netip.Addr{netip.AddrFrom4([4]byte(raw[8:])), netip.AddrFrom16(raw)}[rng.IntN(2)]
	}
	start := time.UnixMilli(int64(n()>>23) - 1e9).UTC() // until 2039: the library's times end in 2262
	return Record{
		Exporter: addr(), Domain: uint32(n()), Start: start, End: start.Add(time.Duration(n()>>44) * time.Millisecond), Src: addr(), Dst: addr(),
		SrcPort: uint16(n()), DstPort: uint16(n()), Protocol: uint8(n()), TOS: uint8(n()), TCPFlags: uint16(n()), InIf: uint32(n()), OutIf: uint32(n()),
		Bytes: n(), Packets: n(), SamplingRate: n(), Source: Source(n() % 8), FlowLabel: uint32(n()) & maxFlowLabel,
	}
}

func someRecords(rng *rand.Rand, n int) []Record {
	out := make([]Record, n)
	for i := range out {
		out[i] = anyRecord(rng)
	}
	return out
}

func blockOf(records []Record) *Block {
	b := &Block{}
	for i := range records {
		b.Append(&records[i])
	}
	return b
}

func recordsOf(b *Block) []Record {
	var out []Record
	for i := range b.Rows() {
		out = append(out, b.Record(i))
	}
	return out
}

// exactly compares times by their instants and addresses as they are.
var exactly = cmp.Options{cmpopts.EquateComparable(netip.Addr{}), cmpopts.EquateEmpty()}

// TestBlocksKeepRecords: across the growth of a block, reuse of its memory, and the way over the bus.
func TestBlocksKeepRecords(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	b := &Block{}
	for _, n := range []int{0, 1, firstRoom, firstRoom + 1, 1000, 3} {
		want := someRecords(rng, n)
		b.Reset()
		for i := range want {
			b.Append(&want[i])
		}
		back, err := ReadNative(b.AppendNative(nil))
		if err != nil {
			t.Fatal(err)
		}
		for name, got := range map[string]*Block{"appended": b, "read": back} {
			if diff := cmp.Diff(recordsOf(got), want, exactly); diff != "" {
				t.Errorf("%d records %s -got +want\n%s", n, name, diff)
			}
		}
	}
}

// TestBlocksAreNative: ClickHouse's own library reads the columns, with their names, types and values.
func TestBlocksAreNative(t *testing.T) {
	want := someRecords(rand.New(rand.NewPCG(3, 4)), 200)
	in := proto.NewBlock()
	if err := in.Decode(chproto.NewReader(bytes.NewReader(blockOf(want).AppendNative(nil))), 0); err != nil {
		t.Fatal(err)
	}
	for i, r := range want {
		columns := map[string]any{
			"exporter": mapped(r.Exporter), "domain": r.Domain, "start": r.Start, "end": r.End, "src": mapped(r.Src), "dst": mapped(r.Dst),
			"src_port": r.SrcPort, "dst_port": r.DstPort, "protocol": r.Protocol, "tos": r.TOS, "tcp_flags": r.TCPFlags, "in_if": r.InIf, "out_if": r.OutIf,
			"bytes": r.Bytes, "packets": r.Packets, "sampling_rate": r.SamplingRate, "source": uint8(r.Source), "flow_label": r.FlowLabel,
		}
		got := map[string]any{}
		for c, name := range in.ColumnsNames() {
			got[name] = in.Columns[c].Row(i, false)
			if ip, ok := got[name].(interface{ To16() []byte }); ok {
				got[name] = fmt.Sprintf("%x", ip.To16())
			} else if name == "exporter" || name == "src" || name == "dst" {
				var a netip.Addr
				if err := in.Columns[c].ScanRow(&a, i); err != nil {
					t.Fatal(err)
				}
				got[name] = mapped(a)
			}
		}
		if diff := cmp.Diff(got, columns); diff != "" {
			t.Fatalf("record %d -ClickHouse's +ours\n%s", i, diff)
		}
	}
}

func mapped(a netip.Addr) string { return fmt.Sprintf("%x", a.As16()) }

func TestSelectedRecords(t *testing.T) {
	all := someRecords(rand.New(rand.NewPCG(5, 6)), 50)
	places := []int{49, 0, 7, 7}
	want := []Record{all[49], all[0], all[7], all[7]}
	if diff := cmp.Diff(recordsOf(blockOf(all).Select(places)), want, exactly); diff != "" {
		t.Error(diff)
	}
}

// column writes one column in the format Native.
func column(name, kind string, values ...byte) []byte {
	out := append([]byte{byte(len(name))}, name...)
	return append(append(append(out, byte(len(kind))), kind...), values...)
}

// TestColumnsOfLaterVersionsAreSkipped, wherever they stand.
func TestColumnsOfLaterVersionsAreSkipped(t *testing.T) {
	want := someRecords(rand.New(rand.NewPCG(7, 8)), 1)
	raw := blockOf(want).AppendNative(nil)
	later := append([]byte{raw[0] + 1, raw[1]}, append(column("flow_colour", "UInt16", 1, 2), raw[2:]...)...)
	b, err := ReadNative(later)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(recordsOf(b), want, exactly); diff != "" {
		t.Error(diff)
	}
}

// TestBlocksOfBeforeFlowLabels: what a collector of before wrote, or a stop of before kept, is read.
func TestBlocksOfBeforeFlowLabels(t *testing.T) {
	want := someRecords(rand.New(rand.NewPCG(9, 10)), 3)
	for i := range want {
		want[i].FlowLabel = 0
	}
	raw := blockOf(want).AppendNative(nil)
	label := column("flow_label", "UInt32", make([]byte, 3*4)...)
	if !bytes.HasSuffix(raw, label) {
		t.Fatal("flow_label is not the last column")
	}
	b, err := ReadNative(append([]byte{raw[0] - 1}, raw[1:len(raw)-len(label)]...))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(recordsOf(b), want, exactly); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsNoBlock(t *testing.T) {
	good := blockOf(someRecords(rand.New(rand.NewPCG(9, 10)), 1)).AppendNative(nil)
	for name, raw := range map[string][]byte{
		"nothing":                    nil,
		"no columns":                 {0, 1},
		"cut off":                    good[:len(good)-1],
		"more than it says":          append(bytes.Clone(good), 0),
		"a column less":              append([]byte{columns - 1}, good[1:len(good)-len(column("source", "UInt8", 0))]...),
		"a column of another type":   bytes.Replace(good, []byte("\x06UInt32"), []byte("\x05Int32"), 1),
		"a type of no fixed size":    append([]byte{columns + 1, 1}, append(column("x", "String", 0), good[2:]...)...),
		"more rows than bytes":       append([]byte{columns, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, good[2:]...),
		"rows beyond any number":     append([]byte{columns, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, good[2:]...),
		"more columns than anything": {0xff, 0xff, 0xff, 0xff, 0x0f, 0},
	} {
		if _, err := ReadNative(raw); !errors.Is(err, ErrBlock) {
			t.Errorf("%s: error is %v, want %v", name, err, ErrBlock)
		}
	}
}

// TestBatchesOfBothEncodingsAreRead: a consumer need not know which it is given.
func TestBatchesOfBothEncodingsAreRead(t *testing.T) {
	records := someRecords(rand.New(rand.NewPCG(11, 12)), 40)
	records[3].End, records[39].End = records[3].Start.Add(-time.Millisecond), records[39].Start.Add(-time.Hour)
	var want []Record
	for i, r := range records {
		if i != 3 && i != 39 {
			want = append(want, r)
		}
	}
	var asMessages []*flowv1.FlowRecord
	for i := range records {
		asMessages = append(asMessages, records[i].ToProto())
	}
	hours := []*flowv1.HourQuality{{Records: 7}}
	for name, m := range map[string]*flowv1.FlowBatch{
		"a message per record": {Records: asMessages},
		"columns":              {Block: blockOf(records).AppendNative(nil)},
		"both":                 {Block: blockOf(records[:20]).AppendNative(nil), Records: asMessages[20:]},
		"columns that are all valid, and messages": {Block: blockOf(want[:10]).AppendNative(nil), Records: append(asMessages[11:], asMessages[3])},
	} {
		m.BatchId, m.Quality = "a", hours
		raw, err := protobuf.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeBatch(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got.ID != "a" || got.Refused != 2 || len(got.Hours) != 1 || got.Hours[0].GetRecords() != 7 {
			t.Errorf("%s: got id %q, %d refused, hours %v", name, got.ID, got.Refused, got.Hours)
		}
		var all []Record
		for r := range got.Records() {
			all = append(all, *r)
		}
		if diff := cmp.Diff(all, want, exactly); diff != "" {
			t.Errorf("%s -got +want\n%s", name, diff)
		}
	}
}

func FuzzDecodeBatch(f *testing.F) {
	records := someRecords(rand.New(rand.NewPCG(13, 14)), 3)
	for _, m := range []*flowv1.FlowBatch{{Block: blockOf(records).AppendNative(nil)}, {Records: []*flowv1.FlowRecord{records[0].ToProto()}}} {
		raw, err := protobuf.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		b, err := DecodeBatch(raw)
		if err != nil {
			return
		}
		for r := range b.Records() {
			if r.End.Before(r.Start) || !r.Src.IsValid() {
				t.Errorf("record %+v was taken", r)
			}
		}
		if again, err := ReadNative(b.Block.AppendNative(nil)); err != nil || again.Rows() != b.Block.Rows() {
			t.Errorf("what was read is no block when it is written again: %v", err)
		}
		if !bytes.Equal(raw, before) {
			t.Error("the message was written to")
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	r := record()
	block := &Block{}
	b.ReportAllocs()
	for b.Loop() {
		if block.Rows() == 8192 {
			block.Reset()
		}
		block.Append(&r)
	}
}
