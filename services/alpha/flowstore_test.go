package alpha

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/testkit/await"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
	"github.com/millrace/millrace/services/flowstore"
)

// record is a router's record of a flow that sent bytes from start for so long.
func record(src, dst string, start time.Time, lasted time.Duration, bytes uint64) *flowv1.FlowRecord {
	ip := func(s string) []byte { return netip.MustParseAddr(s).AsSlice() }
	return &flowv1.FlowRecord{
		Exporter: ip(wr), SrcAddr: ip(src), DstAddr: ip(dst), SrcPort: 40000, DstPort: 5001, Protocol: 6, InIf: 3,
		Start: timestamppb.New(start), End: timestamppb.New(start.Add(lasted)), Bytes: bytes, Packets: bytes / 1500,
		SamplingRate: 1, Source: flowv1.Source_SOURCE_NETFLOW_V9,
	}
}

// A nightly run over the real flow store: records go in over the bus, pairs come out.
func TestARunOverTheRealFlowStore(t *testing.T) {
	r := newRig(t, nil)
	b := bus.NewMemory()
	defer b.Close()
	cfg := flowstore.DefaultConfiguration(t.TempDir())
	cfg.Retention = 0
	store, err := flowstore.New(cfg, flowstore.Dependencies{Bus: b, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer store.Stop(context.Background())
	mux := http.NewServeMux()
	mux.Handle(store.Handler())
	local := rpc.NewLocal(mux)
	defer local.Close()
	client := flowv1connect.NewFlowStoreServiceClient(local.Client(), rpc.LocalURL)
	r.c.deps.FlowStore = client

	put(t, b, client, "one",
		// 3 GB in 90 s: 2 GB of them within the first minute.
		record("10.1.0.5", "10.2.0.9", noon, 90*time.Second, 3e9),
		// 1.2 GB in two minutes: never more than 0.6 GB in one.
		record("10.1.0.5", "10.3.0.9", noon, 2*time.Minute, 1.2e9))
	out := r.nightly(t, night())
	if diff := cmp.Diff(endsOf(out.GetAdded()), []string{"192.0.2.1 10.1.0.0/24 10.2.0.0/24"}); diff != "" {
		t.Fatalf("added (-got +want):\n%s", diff)
	}
	e := out.GetAdded()[0].GetEvidence()
	if len(e) != 1 || e[0].GetBytes() != 2e9 || !e[0].GetLastRecordEnd().AsTime().Equal(noon.Add(90*time.Second)) {
		t.Errorf("evidence %v, want 2 GB in the first minute", e)
	}

	// 25 days later a small flow of the pair; 20 days after that the pair is still fresh.
	put(t, b, client, "two", record("10.1.0.77", "10.2.0.1", noon.Add(25*day), time.Second, 1000))
	put(t, b, client, "three", record("10.9.0.1", "10.9.1.1", noon.Add(45*day-time.Hour), time.Second, 1000))
	r.now = noon.Add(45 * day)
	if out := r.nightly(t, night()); len(out.GetAgedOut()) != 0 {
		t.Errorf("aged out %v, although a flow of it was seen 20 days ago", endsOf(out.GetAgedOut()))
	}
	put(t, b, client, "four", record("10.9.0.1", "10.9.1.1", noon.Add(56*day-time.Hour), time.Second, 1000))
	r.now = noon.Add(56 * day)
	if out := r.nightly(t, night()); len(out.GetAgedOut()) != 1 || len(r.list(t)) != 0 {
		t.Errorf("aged out %v after 31 days of silence, left %v", endsOf(out.GetAgedOut()), endsOf(r.list(t)))
	}
	r.now = noon.Add(300 * day)
	if out := r.nightly(t, night()); len(out.GetRefused()) != 1 {
		t.Errorf("refused %v, want a run without any flow refused", out.GetRefused())
	}
}

// put publishes a batch and waits until the store answers from it.
func put(t *testing.T, b bus.Bus, client flowv1connect.FlowStoreServiceClient, id string, records ...*flowv1.FlowRecord) {
	t.Helper()
	batch := &flowv1.FlowBatch{BatchId: id, Records: records, Quality: []*flowv1.HourQuality{
		exportHour(wr, records[0].GetStart().AsTime(), func(h *flowv1.HourQuality) { h.Collector, h.Revision = "run", 1 }),
	}}
	if err := b.Publish(t.Context(), bus.TopicFlows, wr, batch); err != nil {
		t.Fatal(err)
	}
	from := records[0].GetStart().AsTime()
	await.True(t, "the flow store has the batch", func() bool {
		top, err := client.Top(t.Context(), connect.NewRequest(&flowv1.TopRequest{
			From: timestamppb.New(from), To: timestamppb.New(from.Add(time.Second)), Ipv4Length: 24, Limit: 1,
		}))
		if err != nil {
			t.Fatal(err)
		}
		return len(top.Msg.GetPairs()) > 0
	})
}
