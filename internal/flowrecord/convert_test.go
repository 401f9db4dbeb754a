package flowrecord

import (
	"errors"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

func record() Record {
	start := time.Date(2026, 11, 21, 12, 0, 0, 5e6, time.UTC)
	return Record{
		Exporter: netip.MustParseAddr("172.31.255.11"), Domain: 7, Start: start, End: start.Add(time.Second),
		Src: netip.MustParseAddr("2001:db8::1"), Dst: netip.MustParseAddr("2001:db8::2"), SrcPort: 65535, DstPort: 5001,
		Protocol: 6, TOS: 0x20, TCPFlags: 0x1b, InIf: 1, OutIf: 2, Bytes: 1 << 40, Packets: 1 << 30, SamplingRate: 100, Source: NetFlowV9, FlowLabel: 0xfffff,
	}
}

func TestRecordSurvivesTheBus(t *testing.T) {
	want := record()
	got, err := FromProto(want.ToProto())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, want, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Error(diff)
	}
}

// A new field that record does not fill, or ToProto forgets, is named; TestRecordSurvivesTheBus covers the opposite
// direction.
func TestEveryFieldTravels(t *testing.T) {
	r := record()
	fields := reflect.ValueOf(r)
	for i := range fields.NumField() {
		if fields.Field(i).IsZero() {
			t.Errorf("record() leaves Record.%s empty: give it a value", fields.Type().Field(i).Name)
		}
	}
	sent := r.ToProto().ProtoReflect()
	all := sent.Descriptor().Fields()
	for i := range all.Len() {
		if !sent.Has(all.Get(i)) {
			t.Errorf("ToProto does not fill FlowRecord.%s", all.Get(i).Name())
		}
	}
}

func TestMappedAddressesBecomeIPv4(t *testing.T) {
	r := record()
	r.Src = netip.MustParseAddr("::ffff:10.0.0.1")
	got, err := FromProto(r.ToProto())
	if err != nil {
		t.Fatal(err)
	}
	if want := netip.MustParseAddr("10.0.0.1"); got.Src != want {
		t.Errorf("source is %s, want %s", got.Src, want)
	}
}

func TestBadRecordsAreRefused(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(*flowv1.FlowRecord)
		want  error
	}{
		{"an address of five bytes", func(p *flowv1.FlowRecord) { p.SrcAddr = make([]byte, 5) }, ErrAddress},
		{"no exporter", func(p *flowv1.FlowRecord) { p.Exporter = nil }, ErrAddress},
		{"no start", func(p *flowv1.FlowRecord) { p.Start = nil }, ErrTime},
		{"end before start", func(p *flowv1.FlowRecord) { p.Start, p.End = p.End, p.Start }, ErrTime},
		{"a port above 65535", func(p *flowv1.FlowRecord) { p.DstPort = 65536 }, ErrRange},
		{"a protocol above 255", func(p *flowv1.FlowRecord) { p.Protocol = 256 }, ErrRange},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := record()
			p := r.ToProto()
			c.spoil(p)
			if _, err := FromProto(p); !errors.Is(err, c.want) {
				t.Errorf("error is %v, want %v", err, c.want)
			}
		})
	}
}
