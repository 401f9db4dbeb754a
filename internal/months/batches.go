package months

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/flowrecord"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Batches are the records as they are imported: each batch is of one exporter and one day, and has at most so many.
// Equal names and parameters give equal ids, so that what is imported twice is stored once.
func (t Traffic) Batches(name string, most int) []*flowv1.FlowBatch {
	type key struct {
		date     time.Time
		exporter netip.Addr
	}
	groups := map[key][]flowrecord.Record{}
	var order []key
	for _, r := range t.Records {
		k := key{r.Start.Truncate(day), r.Exporter}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], r)
	}
	var out []*flowv1.FlowBatch
	for _, k := range order {
		part := 0
		for some := range slices.Chunk(groups[k], most) {
			part++
			out = append(out, toBatch(fmt.Sprintf("%s %s %s %d", name, k.date.Format(time.DateOnly), k.exporter, part), some))
		}
	}
	return out
}

func toBatch(id string, records []flowrecord.Record) *flowv1.FlowBatch {
	b := &flowv1.FlowBatch{BatchId: id}
	for i := range records {
		b.Records = append(b.Records, records[i].ToProto())
	}
	b.Quality = hoursOf(id, records)
	return b
}

// hoursOf says of each hour that nothing is missing, as the collector does of records that are imported.
func hoursOf(id string, records []flowrecord.Record) []*flowv1.HourQuality {
	hours := map[time.Time]*flowv1.HourQuality{}
	var out []*flowv1.HourQuality
	for _, r := range records {
		at := r.Start.Truncate(time.Hour)
		if hours[at] == nil {
			hours[at] = &flowv1.HourQuality{
				Exporter: r.Exporter.AsSlice(), Source: flowv1.Source(r.Source), Hour: timestamppb.New(at), Collector: "import " + id, Revision: 1,
			}
			out = append(out, hours[at])
		}
		hours[at].Records++
	}
	return out
}
