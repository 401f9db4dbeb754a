package flowstore

import (
	"context"
	_ "embed"
	"fmt"
	"net/netip"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/store"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

//go:embed intervals.sql
var intervalsSQL string

// intervals requests the fixed intervals number first … last-1, counted from
// the epoch in units of length.
type intervals struct {
	length      time.Duration
	first, last int64
	minBytes    uint64
}

// maxIntervals bounds one question: a year of minutes.
const maxIntervals = 366 * 24 * 60

func intervalsQuery(req *flowv1.IntervalsRequest) (intervals, error) {
	from, to, err := window(req.GetFrom(), req.GetTo())
	if err != nil {
		return intervals{}, err
	}
	length := req.GetInterval().AsDuration()
	if length < time.Second || length > 24*time.Hour || length%time.Millisecond != 0 {
		return intervals{}, invalid("interval is %s; want 1s to 24h in whole milliseconds", length)
	}
	q := intervals{length, ceilDiv(from, length), ceilDiv(to, length), req.GetMinBytes()}
	if q.last-q.first > maxIntervals {
		return intervals{}, invalid("%d intervals asked for; want at most %d", q.last-q.first, maxIntervals)
	}
	return q, nil
}

// ceilDiv is the number of the first interval that starts at t or later.
func ceilDiv(t time.Time, length time.Duration) int64 {
	ms := length.Milliseconds()
	n := t.UnixMilli() / ms
	if time.UnixMilli(n * ms).Before(t) {
		n++
	}
	return n
}

// interval is one flow in one fixed interval.
type interval struct {
	exporter, src, dst netip.Addr
	srcPort, dstPort   uint16
	protocol           uint8
	inIf               uint32
	start              time.Time
	bytes, packets     uint64
	records            uint64
	samplingRate       uint64
	lastEnd            time.Time
}

// run calls each with every interval above the threshold, in order of time.
func (q intervals) run(ctx context.Context, db store.DB, each func(interval) error) error {
	some, err := q.buckets(ctx, db)
	if err != nil || len(some) == 0 {
		return err
	}
	condition, found, err := q.mayExceed(ctx, db, some)
	if err != nil || !found {
		return err
	}
	ms := q.length.Milliseconds()
	rows, err := db.Query(ctx, fmt.Sprintf(intervalsSQL, touchesWindow+condition), ms, q.first, q.last, q.minBytes)
	if err != nil {
		return fmt.Errorf("sum flows over intervals: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		i, err := scanInterval(rows, ms)
		if err != nil {
			return fmt.Errorf("sum flows over intervals: %w", err)
		}
		if err := each(i); err != nil {
			return err
		}
	}
	return rows.Err()
}

func scanInterval(rows store.Rows, ms int64) (interval, error) {
	var i interval
	var slot int64
	err := rows.Scan(&slot, &i.exporter, &i.src, &i.dst, &i.srcPort, &i.dstPort, &i.protocol,
		&i.inIf, &i.bytes, &i.packets, &i.records, &i.samplingRate, &i.lastEnd)
	i.start = time.UnixMilli(slot * ms).UTC()
	i.exporter, i.src, i.dst = i.exporter.Unmap(), i.src.Unmap(), i.dst.Unmap()
	return i, err
}

func (i interval) toProto() *flowv1.IntervalsResponse {
	return &flowv1.IntervalsResponse{
		Exporter:      i.exporter.String(),
		SrcAddr:       i.src.String(),
		DstAddr:       i.dst.String(),
		SrcPort:       uint32(i.srcPort),
		DstPort:       uint32(i.dstPort),
		Protocol:      uint32(i.protocol),
		InIf:          i.inIf,
		IntervalStart: timestamppb.New(i.start),
		Bytes:         i.bytes,
		Packets:       i.packets,
		Records:       uint32(i.records),
		SamplingRate:  i.samplingRate,
		LastRecordEnd: timestamppb.New(i.lastEnd),
	}
}
