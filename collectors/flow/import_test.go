package flow

import (
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/flowrecord"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// TestImportRefusesWhatNoExporterCanHaveSeen: any client that reaches the port can import, so a record is trusted no
// more than one of a datagram.
func TestImportRefusesWhatNoExporterCanHaveSeen(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	inventory := &device.Inventory{Devices: []device.Device{{Name: "WR", Exporters: []netip.Addr{netip.MustParseAddr("192.0.2.1")}}}}
	c, err := New(DefaultConfiguration(), Dependencies{Inventory: inventory, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name   string
		change func(*flowrecord.Record)
		want   string // empty: it is taken
	}{
		{"a flow of last month", func(*flowrecord.Record) {}, ""},
		{"full packets", func(r *flowrecord.Record) { r.Bytes, r.Packets = 65575*100, 100 }, ""},
		{"no count of packets", func(r *flowrecord.Record) { r.Bytes, r.Packets = 1<<40, 0 }, ""},
		{"an exporter that is not listed", func(r *flowrecord.Record) { r.Exporter = netip.MustParseAddr("192.0.2.2") }, "not in the inventory"},
		{"a future flow", func(r *flowrecord.Record) { r.End = now.Add(time.Hour) }, "in the future"},
		{"a flow of last year", func(r *flowrecord.Record) { r.Start = now.Add(-365 * 24 * time.Hour) }, "import_max_age"},
		{"an end before the start", func(r *flowrecord.Record) { r.End = r.Start.Add(-1) }, "before the start"},
		{"packets larger than there are", func(r *flowrecord.Record) { r.Bytes, r.Packets = 1<<40, 1 }, "a packet has at most"},
		{"a sampling rate of 2^32", func(r *flowrecord.Record) { r.SamplingRate = 1 << 32 }, "max_sampling_rate"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := flowrecord.Record{
				Exporter: netip.MustParseAddr("192.0.2.1"), Start: now.Add(-30 * 24 * time.Hour), End: now.Add(-30 * 24 * time.Hour),
				Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2"), Bytes: 1500, Packets: 1, SamplingRate: 1, Source: flowrecord.Nfcapd,
			}
			tc.change(&r)
			_, err := c.checkImport(&flowv1.FlowBatch{BatchId: "x", Records: []*flowv1.FlowRecord{r.ToProto()}}, now)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error is %v, want one with %q", err, tc.want)
			}
		})
	}
}

// A batch is kept under its first record's exporter.
func TestImportRefusesBatchesOfSeveralExporters(t *testing.T) {
	cfg := DefaultConfiguration()
	cfg.Exporters.AcceptUnlisted = true
	c, err := New(cfg, Dependencies{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	b := &flowv1.FlowBatch{BatchId: "x"}
	for _, from := range []string{"192.0.2.1", "192.0.2.2"} {
		r := flowrecord.Record{Exporter: netip.MustParseAddr(from), Start: now, End: now, Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2"), Bytes: 1}
		b.Records = append(b.Records, r.ToProto())
	}
	if _, err := c.checkImport(b, now); err == nil || !strings.Contains(err.Error(), "of one exporter") {
		t.Errorf("error is %v", err)
	}
}
