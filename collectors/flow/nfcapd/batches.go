package nfcapd

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"net/netip"

	"github.com/millrace/millrace/internal/flowrecord"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// batchRecords keeps a batch well below the 1 MB that Kafka takes by default.
const batchRecords = 5000

// Batches reads a file as batches of one exporter each. A batch's id is a hash
// of its records and its place in the file, so that importing the same file
// again, whatever its name is then, stores nothing twice.
func Batches(ctx context.Context, path string, opt Options, each func(*flowv1.FlowBatch) error) (skipped uint64, err error) {
	b := &builder{open: map[netip.Addr][]flowrecord.Record{}, each: each}
	skipped, err = Read(ctx, path, opt, b.add)
	if err != nil {
		return skipped, err
	}
	return skipped, b.flush()
}

type builder struct {
	open  map[netip.Addr][]flowrecord.Record
	order []netip.Addr // in which exporters appeared
	count uint64
	each  func(*flowv1.FlowBatch) error
}

func (b *builder) add(r *flowrecord.Record) error {
	if _, ok := b.open[r.Exporter]; !ok {
		b.order = append(b.order, r.Exporter)
	}
	b.open[r.Exporter] = append(b.open[r.Exporter], *r)
	if len(b.open[r.Exporter]) < batchRecords {
		return nil
	}
	return b.send(r.Exporter)
}

func (b *builder) flush() error {
	for _, exporter := range b.order {
		if len(b.open[exporter]) > 0 {
			if err := b.send(exporter); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *builder) send(exporter netip.Addr) error {
	records := b.open[exporter]
	batch := &flowv1.FlowBatch{BatchId: batchID(b.count, records)}
	for i := range records {
		batch.Records = append(batch.Records, records[i].ToProto())
	}
	b.count++
	b.open[exporter] = records[:0]
	return b.each(batch)
}

func batchID(count uint64, records []flowrecord.Record) string {
	h := sha256.New()
	buf := binary.BigEndian.AppendUint64(nil, count)
	for i := range records {
		buf = appendRecord(buf, &records[i])
		h.Write(buf) //nolint:errcheck // a hash never fails
		buf = buf[:0]
	}
	return "nfcapd-" + hex.EncodeToString(h.Sum(nil)[:16])
}

// appendRecord writes every field at a fixed size; it must not change between
// releases, or files imported before would be stored again.
func appendRecord(b []byte, r *flowrecord.Record) []byte {
	for _, a := range []netip.Addr{r.Exporter, r.Src, r.Dst} {
		raw := a.As16()
		b = append(b, raw[:]...)
	}
	for _, n := range []uint64{
		uint64(r.Domain), uint64(r.Start.UnixMilli()), uint64(r.End.UnixMilli()), uint64(r.SrcPort), uint64(r.DstPort),
		uint64(r.Protocol), uint64(r.TOS), uint64(r.TCPFlags), uint64(r.InIf), uint64(r.OutIf), r.Bytes, r.Packets, r.SamplingRate,
	} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return b
}
