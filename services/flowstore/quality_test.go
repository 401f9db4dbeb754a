package flowstore

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"connectrpc.com/connect"
	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

func addr(s string) []byte { return netip.MustParseAddr(s).AsSlice() }

// hourOf is what a run said of an exporter's hour.
func hourOf(exporter, run string, hour time.Time, revision, records, lost uint64) *flowv1.HourQuality {
	return &flowv1.HourQuality{
		Exporter: addr(exporter), ObservationDomain: 7, Source: flowv1.Source_SOURCE_IPFIX, Hour: timestamppb.New(hour), Collector: run,
		Revision: revision, Records: records, Lost: lost,
	}
}

func (r *rig) quality(from, to time.Time) []*flowv1.HourQuality {
	r.t.Helper()
	stream, err := r.client.ExportQuality(r.t.Context(), connect.NewRequest(&flowv1.ExportQualityRequest{From: timestamppb.New(from), To: timestamppb.New(to)}))
	if err != nil {
		r.t.Fatal(err)
	}
	defer stream.Close()
	var got []*flowv1.HourQuality
	for stream.Receive() {
		got = append(got, proto.Clone(stream.Msg().GetQuality()).(*flowv1.HourQuality))
	}
	if err := stream.Err(); err != nil {
		r.t.Fatal(err)
	}
	return got
}

// TestQualityOfAWindow: of each run the last word on an hour counts, in whatever order and however often it came; runs
// add up; a restart of the store forgets nothing.
func TestQualityOfAWindow(t *testing.T) {
	dir := t.TempDir()
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	said := []*flowv1.FlowBatch{
		{BatchId: "1", Quality: []*flowv1.HourQuality{hourOf("192.0.2.1", "run1", noon, 1, 10, 5), hourOf("2001:db8::1", "run1", noon, 1, 3, 0)}},
		{BatchId: "2", Quality: []*flowv1.HourQuality{hourOf("192.0.2.1", "run1", noon, 2, 20, 4)}},
		{BatchId: "3", Quality: []*flowv1.HourQuality{hourOf("192.0.2.1", "run2", noon, 1, 7, 1), hourOf("192.0.2.1", "run2", noon.Add(time.Hour), 1, 9, 0)}},
	}
	r := newRig(t, testConfiguration(dir))
	for _, b := range said {
		r.deliver(b)
	}
	for _, b := range slices.Backward(said) {
		r.deliver(b)
	}
	twelve := []*flowv1.HourQuality{hourOf("192.0.2.1", "", noon, 0, 27, 5), hourOf("2001:db8::1", "", noon, 0, 3, 0)}
	one := []*flowv1.HourQuality{hourOf("192.0.2.1", "", noon.Add(time.Hour), 0, 9, 0)}
	check := func(r *rig, name string, from, to time.Time, want []*flowv1.HourQuality) {
		t.Helper()
		if diff := gocmp.Diff(r.quality(from, to), want, protocmp.Transform()); diff != "" {
			t.Errorf("%s: -got +want\n%s", name, diff)
		}
	}
	check(r, "one hour", noon, noon.Add(time.Hour), twelve)
	check(r, "a window that touches both", noon.Add(59*time.Minute), noon.Add(61*time.Minute), slices.Concat(twelve, one))
	check(r, "a window before", noon.Add(-time.Hour), noon, nil)
	r.stop()
	check(newRig(t, testConfiguration(dir)), "after a restart", noon, noon.Add(time.Hour), twelve)
}

// TestEveryCountOfAnHourIsStored: a count that is added to the message and forgotten here would be judged as zero.
func TestEveryCountOfAnHourIsStored(t *testing.T) {
	r := newRig(t, testConfiguration(t.TempDir()))
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	want := hourOf("192.0.2.1", "run", noon, 1, 0, 0)
	fields := reflect.ValueOf(want).Elem()
	for i := range fields.NumField() {
		if f := fields.Field(i); fields.Type().Field(i).IsExported() && f.Kind() == reflect.Uint64 {
			f.SetUint(uint64(i) + 1000)
		}
	}
	r.deliver(&flowv1.FlowBatch{BatchId: "x", Quality: []*flowv1.HourQuality{want}})
	want.Collector, want.Revision = "", 0
	if diff := gocmp.Diff(r.quality(noon, noon.Add(time.Hour)), []*flowv1.HourQuality{want}, protocmp.Transform()); diff != "" {
		t.Errorf("-got +want\n%s", diff)
	}
}

func TestHoursThatAreNoneAreLeftOut(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	good := hourOf("192.0.2.1", "run", noon, 1, 1, 0)
	all := []*flowv1.HourQuality{good}
	for _, spoil := range []func(*flowv1.HourQuality){
		func(h *flowv1.HourQuality) { h.Exporter = []byte{1, 2} },
		func(h *flowv1.HourQuality) { h.Hour = nil },
		func(h *flowv1.HourQuality) { h.Hour = timestamppb.New(noon.Add(time.Second)) },
		func(h *flowv1.HourQuality) { h.Hour = timestamppb.New(time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)) },
		func(h *flowv1.HourQuality) { h.Source = 999 },
	} {
		h := proto.Clone(good).(*flowv1.HourQuality)
		spoil(h)
		all = append(all, h)
	}
	valid, invalid := validHours(all)
	if fmt.Sprint(valid) != fmt.Sprint(all[:1]) || invalid != len(all)-1 {
		t.Errorf("valid %v, %d invalid; want the first of %d", valid, invalid, len(all))
	}
}

// TestHoursOfMoreDaysThanAnInsertTakes: the server refuses an insert into more than 100 partitions, and one message
// that is refused for ever would hold up all behind it.
func TestHoursOfMoreDaysThanAnInsertTakes(t *testing.T) {
	r := newRig(t, testConfiguration(t.TempDir()))
	first := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b := &flowv1.FlowBatch{BatchId: "1"}
	for day := range 250 {
		for _, hour := range []int{0, 23} {
			b.Quality = append(b.Quality, hourOf("192.0.2.1", "run1", first.AddDate(0, 0, day).Add(time.Duration(hour)*time.Hour), 1, 1, 0))
		}
	}
	r.deliver(b)
	if got := r.quality(first, first.AddDate(0, 0, 250)); len(got) != 500 {
		t.Errorf("%d hours are stored, want 500", len(got))
	}
}
