package alpha

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/flowrecord"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/testkit/await"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
	"github.com/millrace/millrace/services/alpha/detect"
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
	client := realStore(t, b)
	r.c.deps.FlowStore = client

	put(t, b, client, "one",
		// 3 GB in 90 s: 2 GB of them within the first minute.
		record("10.1.0.5", "10.2.0.9", noon, 90*time.Second, 3e9),
		// 1.2 GB in two minutes: never more than 0.6 GB in one.
		record("10.1.0.5", "10.3.0.9", noon, 2*time.Minute, 1.2e9))
	out := r.nightly(t, nightlyRun())
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
	if out := r.nightly(t, nightlyRun()); len(out.GetAgedOut()) != 0 {
		t.Errorf("aged out %v, although a flow of it was seen 20 days ago", endsOf(out.GetAgedOut()))
	}
	put(t, b, client, "four", record("10.9.0.1", "10.9.1.1", noon.Add(56*day-time.Hour), time.Second, 1000))
	r.now = noon.Add(56 * day)
	if out := r.nightly(t, nightlyRun()); len(out.GetAgedOut()) != 1 || len(r.list(t)) != 0 {
		t.Errorf("aged out %v after 31 days of silence, left %v", endsOf(out.GetAgedOut()), endsOf(r.list(t)))
	}
	r.now = noon.Add(300 * day)
	if out := r.nightly(t, nightlyRun()); len(out.GetRefused()) != 1 {
		t.Errorf("refused %v, want a run without any flow refused", out.GetRefused())
	}
}

// realStore is services/flowstore behind its API, fed by b.
func realStore(t *testing.T, b bus.Bus) flowv1connect.FlowStoreServiceClient {
	t.Helper()
	cfg := flowstore.DefaultConfiguration(t.TempDir())
	cfg.Retention = 0
	store, err := flowstore.New(cfg, flowstore.Dependencies{Bus: b, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Stop(context.Background()) })
	mux := http.NewServeMux()
	mux.Handle(store.Handler())
	local := rpc.NewLocal(mux)
	t.Cleanup(func() { local.Close() })
	return flowv1connect.NewFlowStoreServiceClient(local.Client(), rpc.LocalURL)
}

// TestOneRuleForNightlyRunAndNow: what the store sums records up to, and what detect.Rule.Pieces makes of them, are the
// same.
func TestOneRuleForNightlyRunAndNow(t *testing.T) {
	b := bus.NewMemory()
	defer b.Close()
	client := realStore(t, b)
	rule := detect.DefaultRule()
	rule.Interval, rule.MinBytes = 7*time.Second, 0
	rng := rand.New(rand.NewPCG(21, 22))
	var records []*flowv1.FlowRecord
	want := map[string]detect.Sum{}
	for range 3000 {
		start := noon.Add(time.Duration(rng.IntN(300_000)) * time.Millisecond)
		m := record(fmt.Sprintf("10.1.0.%d", rng.IntN(20)), "10.2.0.9", start, time.Duration(rng.IntN(40_000)*rng.IntN(3))*time.Millisecond, rng.Uint64N(1e12))
		m.Packets, m.SamplingRate = rng.Uint64N(1e9), rng.Uint64N(4)*rng.Uint64N(1000)
		records = append(records, m)
		stored, err := flowrecord.FromProto(m)
		if err != nil {
			t.Fatal(err)
		}
		rule.Pieces(recordOf(&stored), time.Time{}, func(s detect.Sum) {
			name := fmt.Sprintln(s.Flow.Src, s.Start.UnixMilli())
			if sum, known := want[name]; known {
				s = sum.Add(s)
			}
			want[name] = s
		})
	}
	put(t, b, client, "all", records...)
	stream, err := client.Intervals(t.Context(), connect.NewRequest(&flowv1.IntervalsRequest{
		From: timestamppb.New(noon.Add(-time.Minute)), To: timestamppb.New(noon.Add(time.Hour)), Interval: durationpb.New(rule.Interval),
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	got := 0
	for ; stream.Receive(); got++ {
		s, err := sumFromProto(stream.Msg())
		if err != nil {
			t.Fatal(err)
		}
		w := want[fmt.Sprintln(s.Flow.Src, s.Start.UnixMilli())]
		if s.Bytes != w.Bytes || s.Packets != w.Packets || s.SamplingRate != w.SamplingRate || !s.LastRecordEnd.Equal(w.LastRecordEnd) {
			t.Fatalf("the store has %+v, the rule makes %+v", s, w)
		}
	}
	if err := stream.Err(); err != nil || got < 1000 {
		t.Errorf("%d sums (%v); the test proves little", got, err)
	}
	// A piece may be empty, and the store returns sums above 0 bytes only.
	empty := 0
	for _, s := range want {
		if s.Bytes == 0 {
			empty++
		}
	}
	if got+empty != len(want) {
		t.Errorf("the store has %d sums, the rule %d, of which %d are empty", got, len(want), empty)
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
