package flow

import (
	"net/netip"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/collectors/flow/exporter"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// ownHours counts what the sockets took and lost in each hour. A row for every hour in which the collector listened
// tells a silent network from a collector that was down.
type ownHours struct {
	mu       sync.Mutex
	hours    exporter.Hours
	listened time.Time // the hour in which it was last noted
	revision uint64
}

// listen notes that the collector is there.
func (o *ownHours) listen(now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if hour := now.Truncate(time.Hour); !hour.Equal(o.listened) {
		o.listened = hour
		o.hours.At(now)
	}
}

func (o *ownHours) count(now time.Time, datagrams int, dropped uint32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	hour := o.hours.At(now)
	hour.Datagrams += uint64(datagrams)
	hour.SocketDrops += uint64(dropped)
}

// changed lists the hours that were counted in since it was last requested.
func (o *ownHours) changed() []exporter.Hour {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := o.hours.Changed()
	o.revision++
	for i := range out {
		out[i].Exporter, out[i].Revision = netip.IPv4Unspecified(), o.revision
	}
	return out
}

func hoursToProto(hours []exporter.Hour, collector string) []*flowv1.HourQuality {
	var out []*flowv1.HourQuality
	for _, h := range hours {
		out = append(out, &flowv1.HourQuality{
			Exporter: h.Exporter.AsSlice(), ObservationDomain: h.Domain, Source: flowv1.Source(h.Source), Hour: timestamppb.New(h.Start),
			Collector: collector, Revision: h.Revision, Datagrams: h.Datagrams, Records: h.Records, UnknownRate: h.UnknownRate,
			Received: h.Received, Lost: h.Lost, NoTemplate: h.NoTemplate, OutOfRange: h.OutOfRange, Refused: h.Refused, SocketDrops: h.SocketDrops,
		})
	}
	return out
}

// importedHours is what can be said of records from a file: that they are there, and whether their rate is known. They
// count in the hours of the flows. The batch stands for the collector's run, so that importing it twice counts once.
func importedHours(b *flowv1.FlowBatch) []*flowv1.HourQuality {
	type key struct {
		exporter string
		hour     time.Time
	}
	hours := map[key]*flowv1.HourQuality{}
	var out []*flowv1.HourQuality
	for _, r := range b.GetRecords() {
		start, end := r.GetStart().AsTime().Truncate(time.Hour), r.GetEnd().AsTime().Truncate(time.Hour)
		for _, hour := range slices.Compact([]time.Time{start, end}) {
			k := key{string(r.GetExporter()), hour}
			if hours[k] == nil {
				hours[k] = &flowv1.HourQuality{
					Exporter: r.GetExporter(), Source: flowv1.Source_SOURCE_NFCAPD, Hour: timestamppb.New(hour), Collector: "import " + b.GetBatchId(), Revision: 1,
				}
				out = append(out, hours[k])
			}
			hours[k].Records++
			if r.GetSamplingRate() == 0 {
				hours[k].UnknownRate++
			}
		}
	}
	return out
}
