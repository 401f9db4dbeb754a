package flow

import (
	"errors"
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/flowrecord"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// checkImport refuses what no exporter of this network can have seen: imported records become pairs, and pairs become
// rules on routers, just as those that come as datagrams. now is the time of the import. The records are returned as
// the bus carries them.
func (c *Component) checkImport(b *flowv1.FlowBatch, now time.Time) (*flowrecord.Block, error) {
	switch {
	case b.GetBatchId() == "":
		return nil, errors.New("batch without batch_id, which makes importing twice harmless")
	case len(b.GetBlock()) > 0:
		return nil, fmt.Errorf("batch %s has a block, which is for the bus; want records", b.GetBatchId())
	case len(b.GetRecords()) == 0:
		return nil, fmt.Errorf("batch %s has no records", b.GetBatchId())
	case len(b.GetRecords()) > maxImportRecords:
		return nil, fmt.Errorf("batch %s has %d records; want at most %d", b.GetBatchId(), len(b.GetRecords()), maxImportRecords)
	}
	var first flowrecord.Record
	block := &flowrecord.Block{}
	for i, p := range b.GetRecords() {
		r, err := flowrecord.FromProto(p)
		if err == nil {
			err = c.checkImported(&r, now)
		}
		if err == nil && i > 0 && r.Exporter != first.Exporter {
			err = fmt.Errorf("its exporter is %s, and the batch's is %s: a batch is of one exporter", r.Exporter, first.Exporter)
		}
		if err != nil {
			return nil, fmt.Errorf("batch %s, record %d: %w", b.GetBatchId(), i, err)
		}
		if i == 0 {
			first = r
		}
		block.Append(&r)
	}
	return block, nil
}

// largestPacket is an IPv6 packet that is no jumbogram (RFC 8200, section 3).
const largestPacket = 40 + 65535

func (c *Component) checkImported(r *flowrecord.Record, now time.Time) error {
	switch {
	case !c.table.Hears(r.Exporter):
		return fmt.Errorf("exporter %s is not in the inventory: list it among the `exporters` of its device, or set flow.exporters.accept_unlisted", r.Exporter)
	case r.End.After(now.Add(c.cfg.Exporters.MaxAhead)):
		return fmt.Errorf("it ends at %s, in the future", r.End)
	case r.Start.Before(now.Add(-c.cfg.ImportMaxAge)):
		return fmt.Errorf("it starts at %s, longer ago than flow.import_max_age, %s", r.Start, c.cfg.ImportMaxAge)
	case r.Packets > 0 && r.Bytes/r.Packets > largestPacket:
		return fmt.Errorf("it has %d bytes in %d packets; a packet has at most %d", r.Bytes, r.Packets, largestPacket)
	case r.SamplingRate > c.cfg.Exporters.MaxSamplingRate:
		return fmt.Errorf("its sampling rate is %d; flow.exporters.max_sampling_rate is %d", r.SamplingRate, c.cfg.Exporters.MaxSamplingRate)
	}
	return nil
}
