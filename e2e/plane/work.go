package plane

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/testkit/program"
	"github.com/millrace/millrace/proto/gen/millrace/alpha/v1/alphav1connect"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/vpn/v1/vpnv1connect"
)

// Work is what a control plane does beside change sets, through its API, and what must be left of it.
type Work struct {
	Store   flowv1connect.FlowStoreServiceClient
	Files   flowv1connect.FlowCollectorServiceClient
	Alpha   alphav1connect.AlphaServiceClient
	VPN     vpnv1connect.VpnServiceClient
	Changes pushv1connect.ChangeServiceClient
	Routers map[string]*Router
	// Taken are the flows whose import was answered, Sent those of them that came one by one.
	Taken []Octets
	Sent  []*flowv1.FlowBatch
}

// NewWork reaches services at their URLs.
func NewWork(client connect.HTTPClient, url func(service string) string, routers map[string]*Router) *Work {
	return &Work{
		Store:   flowv1connect.NewFlowStoreServiceClient(client, url("flowstore")),
		Files:   flowv1connect.NewFlowCollectorServiceClient(client, url("flow")),
		Alpha:   alphav1connect.NewAlphaServiceClient(client, url("alpha")),
		VPN:     vpnv1connect.NewVpnServiceClient(client, url("vpn")),
		Changes: pushv1connect.NewChangeServiceClient(client, url("push")),
		Routers: routers,
	}
}

// Asking asks again until it is answered without an error.
func Asking(t *testing.T, what string, ask func(ctx context.Context) error) {
	t.Helper()
	program.Until(t, what, func() (bool, any) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		err := ask(ctx)
		return err == nil, err
	})
}

// Octets of a flow.
type Octets uint64

// Small is a flow that no run looks at, Huge is an alpha flow.
const (
	Small Octets = 3000
	Huge  Octets = 4_000_000_000
)

// Exporter is WR's.
var Exporter = netip.MustParseAddr("192.0.2.1")

// Flow ended a moment ago; those of one name go between the same hosts.
func Flow(name string, n int, size Octets) *flowv1.FlowRecord {
	end := time.Now().Add(-10 * time.Second).Truncate(time.Millisecond)
	return &flowv1.FlowRecord{
		Exporter: Exporter.AsSlice(), Start: timestamppb.New(end.Add(-20 * time.Second)), End: timestamppb.New(end),
		SrcAddr: []byte{10, 1, 0, byte(5 + n)}, DstAddr: []byte{10, 2, 0, byte(5 + n)}, SrcPort: uint32(1024 + len(name)), DstPort: 443, Protocol: 6, InIf: 3,
		Bytes: uint64(size), Packets: uint64(size)/1500 + 1, SamplingRate: 1, Source: flowv1.Source_SOURCE_NFCAPD,
	}
}

// Send imports one flow as `millrace flows import` does, again until it is answered.
func (w *Work) Send(t *testing.T, name string, size Octets) {
	t.Helper()
	n := len(w.Taken) % 200
	batch := &flowv1.FlowBatch{BatchId: name, Records: []*flowv1.FlowRecord{Flow(name, n, size)}}
	Asking(t, name+" is imported", func(ctx context.Context) error { return w.Stream(ctx, func() {}, batch) })
	w.Taken, w.Sent = append(w.Taken, size), append(w.Sent, batch)
}

// Stream imports batches; between is called after the first.
func (w *Work) Stream(ctx context.Context, between func(), batches ...*flowv1.FlowBatch) error {
	stream := w.Files.Import(ctx)
	for i, batch := range batches {
		if err := stream.Send(&flowv1.ImportRequest{Batch: batch}); err != nil {
			_, closed := stream.CloseAndReceive() // says why the stream ended
			return errors.Join(err, closed)
		}
		if i == 0 {
			between()
		}
	}
	_, err := stream.CloseAndReceive()
	return err
}

// AllStored waits until the store has what was taken, and wants it once.
func (w *Work) AllStored(t *testing.T) {
	t.Helper()
	var sum Octets
	for _, size := range w.Taken {
		sum += size
	}
	program.Until(t, "all flows are stored", func() (bool, any) {
		flows, total, err := w.Stored(t.Context())
		if flows > len(w.Taken) || total > sum {
			t.Fatalf("%d flows of %d octets were taken, and the store counts %d of %d", len(w.Taken), sum, flows, total)
		}
		return err == nil && flows == len(w.Taken) && total == sum, []any{flows, total, err}
	})
}

// Stored is what the store counts.
func (w *Work) Stored(ctx context.Context) (flows int, total Octets, err error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	r, err := w.Store.Top(ctx, connect.NewRequest(&flowv1.TopRequest{
		From: timestamppb.New(time.Now().Add(-3 * time.Hour)), To: timestamppb.New(time.Now().Add(3 * time.Hour)), Ipv4Length: 32, Limit: 10_000,
	}))
	if err != nil {
		return 0, 0, err
	}
	for _, p := range r.Msg.GetPairs() {
		flows, total = flows+int(p.GetFlows()), total+Octets(p.GetBytes())
	}
	return flows, total, nil
}
