package flowstore

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/store"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// hourCounts are the columns of table quality that add up over the runs of collectors.
var hourCounts = []struct {
	column string
	of     func(*flowv1.HourQuality) *uint64
}{
	{"datagrams", func(h *flowv1.HourQuality) *uint64 { return &h.Datagrams }},
	{"records", func(h *flowv1.HourQuality) *uint64 { return &h.Records }},
	{"unknown_rate", func(h *flowv1.HourQuality) *uint64 { return &h.UnknownRate }},
	{"received", func(h *flowv1.HourQuality) *uint64 { return &h.Received }},
	{"lost", func(h *flowv1.HourQuality) *uint64 { return &h.Lost }},
	{"no_template", func(h *flowv1.HourQuality) *uint64 { return &h.NoTemplate }},
	{"out_of_range", func(h *flowv1.HourQuality) *uint64 { return &h.OutOfRange }},
	{"refused", func(h *flowv1.HourQuality) *uint64 { return &h.Refused }},
	{"socket_drops", func(h *flowv1.HourQuality) *uint64 { return &h.SocketDrops }},
}

// validHours leaves out what the table cannot hold.
func validHours(all []*flowv1.HourQuality) (valid []*flowv1.HourQuality, invalid int) {
	for _, h := range all {
		_, ok := netip.AddrFromSlice(h.GetExporter())
		hour := h.GetHour().AsTime()
		if !ok || !h.GetHour().IsValid() || !storable(hour, hour) || !hour.Equal(hour.Truncate(time.Hour)) || h.GetSource() < 0 || h.GetSource() > 255 {
			invalid++
			continue
		}
		valid = append(valid, h)
	}
	return valid, invalid
}

// hourColumns turns hours into the columns of table quality.
func hourColumns(hours []*flowv1.HourQuality) store.Batch {
	n := len(hours)
	at, exporters, domains := make([]time.Time, n), make([]netip.Addr, n), make([]uint32, n)
	sources, collectors, revisions := make([]uint8, n), make([]string, n), make([]uint64, n)
	for i, h := range hours {
		at[i], domains[i], sources[i] = h.GetHour().AsTime(), h.GetObservationDomain(), uint8(h.GetSource())
		exporters[i], _ = netip.AddrFromSlice(h.GetExporter())
		collectors[i], revisions[i] = h.GetCollector(), h.GetRevision()
	}
	columns := []store.Column{
		{Name: "hour", Type: milliseconds, Values: at}, {Name: "exporter", Type: "IPv6", Values: exporters},
		{Name: "domain", Type: "UInt32", Values: domains}, {Name: "source", Type: "UInt8", Values: sources},
		{Name: "collector", Type: "String", Values: collectors}, {Name: "revision", Type: "UInt64", Values: revisions},
	}
	for _, c := range hourCounts {
		values := make([]uint64, n)
		for i, h := range hours {
			values[i] = *c.of(h)
		}
		columns = append(columns, store.Column{Name: c.column, Type: "UInt64", Values: values})
	}
	return store.Batch{Table: "quality", Columns: columns}
}

// insertHours stores what the batches say of hours. It is called before their flows are stored, so that a query that
// finds a flow also finds how much is missing beside it; the table's key makes repeats harmless.
func (w *flowWriter) insertHours(ctx context.Context, batches []flowBatch) error {
	var hours []*flowv1.HourQuality
	for _, b := range batches {
		hours = append(hours, b.hours...)
	}
	for _, some := range byDays(hours, insertDays) {
		// A block of one partition is one part, but here a part of the rows does no harm.
		if err := w.db.Insert(ctx, hourColumns(some)); err != nil {
			w.metrics.insertErrors.WithLabelValues("quality").Inc()
			return fmt.Errorf("insert quality: %w", err)
		}
		w.metrics.rows.WithLabelValues("quality").Add(float64(len(some)))
	}
	return nil
}

// insertDays is how many days one insert has at most: a day is a partition, and the server takes 100 of them at a time
// (max_partitions_per_insert_block).
const insertDays = 90

// byDays cuts hours, in their order, into pieces of at most so many days.
func byDays(hours []*flowv1.HourQuality, most int) (out [][]*flowv1.HourQuality) {
	const day = 24 * 60 * 60
	days, begin := map[int64]bool{}, 0
	for i, h := range hours {
		days[h.GetHour().GetSeconds()/day] = true
		if len(days) > most {
			out, begin = append(out, hours[begin:i]), i
			days = map[int64]bool{h.GetHour().GetSeconds() / day: true}
		}
	}
	if begin < len(hours) {
		out = append(out, hours[begin:])
	}
	return out
}

// exportQuality reads the hours that a window touches. FINAL: of each run only its last word on the hour counts.
func exportQuality() string {
	var sums []string
	for _, c := range hourCounts {
		sums = append(sums, "sum("+c.column+")")
	}
	return "SELECT hour, exporter, domain, source, " + strings.Join(sums, ", ") + " FROM quality FINAL" +
		" WHERE hour >= toStartOfHour(?) AND hour < ? GROUP BY hour, exporter, domain, source ORDER BY hour, exporter, domain, source"
}

// ExportQuality implements FlowStoreService.
func (a *api) ExportQuality(ctx context.Context, req *connect.Request[flowv1.ExportQualityRequest], out *connect.ServerStream[flowv1.ExportQualityResponse]) error {
	db, err := a.everything()
	if err != nil {
		return err
	}
	from, to, err := window(req.Msg.GetFrom(), req.Msg.GetTo())
	if err != nil {
		return err
	}
	rows, err := db.Query(ctx, exportQuality(), from, to)
	if err != nil {
		return fmt.Errorf("read quality: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		h, err := scanHour(rows)
		if err != nil {
			return fmt.Errorf("read quality: %w", err)
		}
		if err := out.Send(&flowv1.ExportQualityResponse{Quality: h}); err != nil {
			return err
		}
	}
	return rows.Err()
}

func scanHour(rows store.Rows) (*flowv1.HourQuality, error) {
	h := &flowv1.HourQuality{}
	var at time.Time
	var exporter netip.Addr
	var source uint8
	into := []any{&at, &exporter, &h.ObservationDomain, &source}
	for _, c := range hourCounts {
		into = append(into, c.of(h))
	}
	err := rows.Scan(into...)
	h.Hour, h.Exporter, h.Source = timestamppb.New(at), exporter.Unmap().AsSlice(), flowv1.Source(source)
	return h, err
}
