package flow

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/flowrecord"
	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/rpc"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
)

// importer is the API for an operator of some routers, of which the inventory has WR and ER.
func importer(t *testing.T, patterns ...string) flowv1connect.FlowCollectorServiceClient {
	cfg := DefaultConfiguration()
	cfg.Exporters.AcceptUnlisted = true
	b := bus.NewMemory()
	c, err := New(cfg, Dependencies{Bus: b, Log: slog.New(slog.DiscardHandler), Inventory: &device.Inventory{Devices: []device.Device{
		{Name: "WR", Exporters: []netip.Addr{netip.MustParseAddr("192.0.2.1")}}, {Name: "ER", Exporters: []netip.Addr{netip.MustParseAddr("192.0.2.2")}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	who := rights.Caller{Name: "ann", Role: rights.Operator, Limits: rights.Limits{Scope: rights.Scope{Routers: patterns}}}
	mux := http.NewServeMux()
	path, h := c.Handler()
	mux.Handle(path, rpc.As(who, func() rpc.Recorder { return nil }, h))
	server := rpc.NewLocal(mux)
	t.Cleanup(func() { server.Close(); b.Close() })
	if err := b.Subscribe(t.Context(), bus.TopicFlows, bus.Keepers[bus.TopicFlows], func(context.Context, bus.Message) error { return nil }); err != nil {
		t.Fatal(err)
	}
	return flowv1connect.NewFlowCollectorServiceClient(server.Client(), rpc.LocalURL)
}

// imports sends a batch for each exporter, and says what became of them.
func imports(t *testing.T, api flowv1connect.FlowCollectorServiceClient, exporters ...string) error {
	t.Helper()
	stream := api.Import(t.Context())
	for _, from := range exporters {
		r := flowrecord.Record{
			Exporter: netip.MustParseAddr(from), Start: time.Now(), End: time.Now(), Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2"),
			Bytes: 1500, Packets: 1, SamplingRate: 1, Source: flowrecord.Nfcapd,
		}
		batch := &flowv1.FlowBatch{BatchId: from, Records: []*flowv1.FlowRecord{r.ToProto()}}
		if err := stream.Send(&flowv1.ImportRequest{Batch: batch}); err != nil {
			break // the answer says why
		}
	}
	_, err := stream.CloseAndReceive()
	return err
}

// Each batch of a stream is of a router of the scope.
func TestFlowsAreImportedForExportersOfTheScope(t *testing.T) {
	for name, tt := range map[string]struct {
		scope, exporters []string
		beyond           string
	}{
		"its exporter":                      {[]string{"W*"}, []string{"192.0.2.1"}, ""},
		"both":                              {[]string{"?R"}, []string{"192.0.2.1", "192.0.2.2"}, ""},
		"another one":                       {[]string{"W*"}, []string{"192.0.2.2"}, "router ER"},
		"another one behind it":             {[]string{"W*"}, []string{"192.0.2.1", "192.0.2.2"}, "router ER"},
		"one of no router":                  {[]string{"W*", "E*"}, []string{"192.0.2.3"}, "every router"},
		"one of no router, for all of them": {[]string{"*"}, []string{"192.0.2.3"}, ""},
	} {
		err := imports(t, importer(t, tt.scope...), tt.exporters...)
		if tt.beyond == "" && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if tt.beyond != "" && (connect.CodeOf(err) != connect.CodePermissionDenied || !strings.Contains(err.Error(), "is about "+tt.beyond+";")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A batch of two exporters is about both, whatever becomes of it.
func TestABatchIsAboutEachExporter(t *testing.T) {
	c, err := New(DefaultConfiguration(), Dependencies{Log: slog.New(slog.DiscardHandler), Inventory: &device.Inventory{Devices: []device.Device{
		{Name: "WR", Exporters: []netip.Addr{netip.MustParseAddr("192.0.2.1")}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	records := []*flowv1.FlowRecord{{Exporter: []byte{192, 0, 2, 1}}, {Exporter: []byte{192, 0, 2, 1}}, {Exporter: []byte{1, 2, 3}}}
	things, err := c.about(t.Context(), "", &flowv1.ImportRequest{Batch: &flowv1.FlowBatch{Records: records}})
	if err != nil || strings.Join(things.Routers, ",") != "WR," {
		t.Errorf("%q, %v", things.Routers, err)
	}
}
