package flowrecord

import (
	"fmt"
	"iter"

	"google.golang.org/protobuf/proto"

	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// Batch is a message of topic millrace.flows.v1, whichever way its records were written.
type Batch struct {
	// ID is stable over redelivery; it may be empty.
	ID string
	// Block has the records that are valid. It is never nil and not to be changed.
	Block *Block
	// Refused is how many were not: an address of a wrong length, an end before the start, a field out of range.
	Refused int
	// Hours are what the message says of whole hours.
	Hours []*flowv1.HourQuality
	// Tags are what a host says of its flows.
	Tags []*flowv1.FlowTag
}

// Records are those of the block; the pointer is valid until the next one.
func (b *Batch) Records() iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		for i := range b.Block.Rows() {
			if r := b.Block.Record(i); !yield(&r) {
				return
			}
		}
	}
}

// DecodeBatch reads a message of topic millrace.flows.v1. Collectors write columns; a record of protobuf each is how
// they wrote until then, and how others may. It may keep using raw.
func DecodeBatch(raw []byte) (Batch, error) {
	m := &flowv1.FlowBatch{}
	if err := proto.Unmarshal(raw, m); err != nil {
		return Batch{}, fmt.Errorf("flow batch: %w", err)
	}
	b := Batch{ID: m.GetBatchId(), Block: &Block{}, Hours: m.GetQuality(), Tags: m.GetTags()}
	if len(m.GetBlock()) > 0 {
		block, err := ReadNative(m.GetBlock())
		if err != nil {
			return Batch{}, fmt.Errorf("flow batch %s: %w", b.ID, err)
		}
		b.Block = block.forward()
		b.Refused = block.Rows() - b.Block.Rows()
	}
	for _, p := range m.GetRecords() {
		r, err := FromProto(p)
		if err != nil {
			b.Refused++
			continue
		}
		b.Block.Append(&r) // a block that was read has no room, so that raw is not written to
	}
	return b, nil
}

// forward has the records that do not end before they start: the block itself where all are so.
func (b *Block) forward() *Block {
	var good []int
	for i := range b.rows {
		start, end := b.Span(i)
		switch {
		case end >= start && good != nil:
			good = append(good, i)
		case end < start && good == nil:
			good = make([]int, i, b.rows)
			for j := range good {
				good[j] = j
			}
		}
	}
	if good == nil {
		return b
	}
	return b.Select(good)
}
