package flowstore

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/flowrecord"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/store"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
)

// day0 is when the records of these tests happen: shortly before a midnight, so
// that they lie in two partitions.
var day0 = time.Date(2026, 11, 20, 23, 50, 0, 0, time.UTC)

var discard = slog.New(slog.NewTextHandler(io.Discard, nil))

// rig is a flow store with a real engine and an in-process bus and API.
type rig struct {
	t      *testing.T
	bus    *bus.Memory
	comp   *Component
	client flowv1connect.FlowStoreServiceClient
}

func testConfiguration(dir string) Configuration {
	cfg := DefaultConfiguration(dir)
	cfg.Linger = 5 * time.Millisecond
	cfg.Retention = 0
	cfg.TelemetryRetention = 0
	return cfg
}

func newRig(t *testing.T, cfg Configuration) *rig {
	t.Helper()
	return newRigOn(t, cfg, &atomic.Bool{})
}

// newRigOn has a store that refuses to insert while it is away.
func newRigOn(t *testing.T, cfg Configuration, away *atomic.Bool) *rig {
	t.Helper()
	b := bus.NewMemory()
	c, err := New(cfg, Dependencies{Bus: b, Log: discard})
	if err != nil {
		t.Fatal(err)
	}
	c.open = func(ctx context.Context, cfg store.Configuration) (store.DB, error) {
		db, err := store.Open(ctx, cfg)
		return &absent{db, away}, err
	}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, h := c.Handler()
	local := rpc.NewLocal(h)
	r := &rig{t, b, c, flowv1connect.NewFlowStoreServiceClient(local.Client(), rpc.LocalURL)}
	t.Cleanup(func() {
		local.Close()
		r.stop()
	})
	return r
}

func (r *rig) stop() {
	r.t.Helper()
	if err := r.comp.Stop(context.Background()); err != nil {
		r.t.Error(err)
	}
	r.bus.Close()
}

// deliver hands the batch to the bus's handler, as the bus would, and fails on
// an error, which means "not acknowledged".
func (r *rig) deliver(b *flowv1.FlowBatch) {
	r.t.Helper()
	if err := r.comp.takeFlows(r.t.Context(), message(r.t, b)); err != nil {
		r.t.Fatal(err)
	}
}

func message(t *testing.T, m proto.Message) bus.Message {
	t.Helper()
	raw, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return bus.Message{Topic: bus.TopicFlows, Value: raw}
}

func batch(id string, records ...flowrecord.Record) *flowv1.FlowBatch {
	b := &flowv1.FlowBatch{BatchId: id}
	for i := range records {
		b.Records = append(b.Records, records[i].ToProto())
	}
	return b
}

// columnBatch is as collectors write it.
func columnBatch(id string, records ...flowrecord.Record) *flowv1.FlowBatch {
	return &flowv1.FlowBatch{BatchId: id, Block: blockOf(records...).AppendNative(nil)}
}

func blockOf(records ...flowrecord.Record) *flowrecord.Block {
	b := &flowrecord.Block{}
	for i := range records {
		b.Append(&records[i])
	}
	return b
}

// recordBatch is a message as the writer takes it.
func recordBatch(id string, records ...flowrecord.Record) flowBatch {
	days, _ := split(blockOf(records...))
	return flowBatch{id: batchKey(id), days: days}
}

func (r *rig) intervals(req *flowv1.IntervalsRequest) []*flowv1.IntervalsResponse {
	r.t.Helper()
	stream, err := r.client.Intervals(r.t.Context(), connect.NewRequest(req))
	if err != nil {
		r.t.Fatal(err)
	}
	defer stream.Close()
	var got []*flowv1.IntervalsResponse
	for stream.Receive() {
		got = append(got, proto.Clone(stream.Msg()).(*flowv1.IntervalsResponse))
	}
	if err := stream.Err(); err != nil {
		r.t.Fatal(err)
	}
	return got
}

func question(from, to time.Time, length time.Duration, minBytes uint64) *flowv1.IntervalsRequest {
	return &flowv1.IntervalsRequest{
		From: timestamppb.New(from), To: timestamppb.New(to), Interval: durationpb.New(length), MinBytes: minBytes,
	}
}

// randomRecords are of few flows, so that many meet in one interval.
func randomRecords(rng *rand.Rand, n int) []flowrecord.Record {
	records := make([]flowrecord.Record, n)
	for i := range records {
		start := day0.Add(time.Duration(rng.IntN(1200_000)) * time.Millisecond)
		var lasted time.Duration
		switch rng.IntN(4) {
		case 0: // none
		case 1: // ends or starts on a boundary now and then
			start = start.Truncate(10 * time.Second)
			lasted = time.Duration(rng.IntN(8)) * 10 * time.Second
		default:
			lasted = time.Duration(rng.IntN(200_000)) * time.Millisecond
		}
		records[i] = flowrecord.Record{
			Exporter: netip.AddrFrom4([4]byte{172, 31, 255, byte(11 + rng.IntN(2))}),
			Start:    start, End: start.Add(lasted),
			Src: netip.AddrFrom4([4]byte{10, 0, byte(rng.IntN(2)), byte(rng.IntN(2))}), Dst: netip.MustParseAddr("2001:db8::1"),
			SrcPort: uint16(rng.IntN(2)), DstPort: 5001, Protocol: 6, InIf: 3,
			Bytes: rng.Uint64N(1 << uint(rng.IntN(40))), Packets: rng.Uint64N(1000),
			SamplingRate: uint64(rng.IntN(3)) * 50, Source: flowrecord.NetFlowV9,
		}
		if i%10 == 0 {
			records[i].Dst = netip.MustParseAddr("10.9.9.9")
		}
	}
	return records
}

func batches(records []flowrecord.Record, size int) []*flowv1.FlowBatch {
	var all []*flowv1.FlowBatch
	for i := 0; i < len(records); i += size {
		all = append(all, batch(fmt.Sprint("batch-", i), records[i:min(i+size, len(records))]...))
	}
	return all
}
