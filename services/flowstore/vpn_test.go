package flowstore

import (
	"context"
	"math"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/bus"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
)

func (r *rig) deliverVPN(b *vpnv1.SampleBatch) {
	r.t.Helper()
	raw, err := proto.Marshal(b)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := r.comp.takeVPN(context.Background(), bus.Message{Topic: bus.TopicVPN, Key: "vpn", Value: raw}); err != nil {
		r.t.Fatal(err)
	}
}

// TestVPNSamplesAreKeptOnceAndReadAsSeries: what services/vpn publishes, with a redelivery and with what is no number.
func TestVPNSamplesAreKeptOnceAndReadAsSeries(t *testing.T) {
	r := newRig(t, testConfiguration(t.TempDir()))
	at := func(second int) *timestamppb.Timestamp {
		return timestamppb.New(day0.Add(time.Duration(second) * time.Second))
	}
	flow := func(vpn string, bits float64) *vpnv1.Flow {
		return &vpnv1.Flow{Vpn: vpn, Ingress: "10.255.0.1", Egress: "10.255.0.2", Weight: 2, Throughput: bits, FairShare: 30, Window: 8, RttSeconds: 0.02, Loss: 0.5, Queue: 7, Drops: 3}
	}
	first := &vpnv1.SampleBatch{Time: at(0), Flows: []*vpnv1.Flow{flow("red", 10), flow("blue", 20)}, Round: &vpnv1.Round{Fairness: 0.9, Jain: 0.8, Active: 2, Throughput: 30}}
	r.deliverVPN(first)
	r.deliverVPN(first)
	r.deliverVPN(&vpnv1.SampleBatch{Time: at(1), Flows: []*vpnv1.Flow{flow("red", 40), flow("blue", math.NaN()), flow("", 1)}, Round: &vpnv1.Round{Fairness: math.Inf(1)}})
	r.deliverVPN(&vpnv1.SampleBatch{Flows: []*vpnv1.Flow{flow("red", 99)}})

	got, err := r.client.VpnSeries(t.Context(), connect.NewRequest(&flowv1.VpnSeriesRequest{From: at(0), To: at(10)}))
	if err != nil {
		t.Fatal(err)
	}
	point := func(second int, bits float64) *flowv1.VpnPoint {
		return &flowv1.VpnPoint{Time: at(second), Throughput: bits, FairShare: 30, Window: 8, RttSeconds: 0.02, Loss: 0.5, Queue: 7, Weight: 2, Drops: 3}
	}
	want := &flowv1.VpnSeriesResponse{
		Flows: []*flowv1.VpnFlowSeries{
			{Vpn: "blue", Ingress: "10.255.0.1", Egress: "10.255.0.2", Points: []*flowv1.VpnPoint{point(0, 20)}},
			{Vpn: "red", Ingress: "10.255.0.1", Egress: "10.255.0.2", Points: []*flowv1.VpnPoint{point(0, 10), point(1, 40)}},
		},
		Fairness: []*flowv1.VpnFairness{{Time: at(0), Fairness: 0.9, Jain: 0.8, Active: 2, Throughput: 30}},
	}
	if d := cmp.Diff(got.Msg, want, protocmp.Transform()); d != "" {
		t.Errorf("series (-got +want):\n%s", d)
	}
	most, err := r.client.VpnSeries(t.Context(), connect.NewRequest(&flowv1.VpnSeriesRequest{From: at(0), To: at(10), Limit: 1}))
	if err != nil || len(most.Msg.GetFlows()) != 1 || most.Msg.GetFlows()[0].GetVpn() != "red" {
		t.Errorf("the one that sent most: got %v, %v", most, err)
	}
	one, err := r.client.VpnSeries(t.Context(), connect.NewRequest(&flowv1.VpnSeriesRequest{From: at(0), To: at(20000), Vpn: "red"}))
	if err != nil || len(one.Msg.GetFlows()) != 1 || len(one.Msg.GetFlows()[0].GetPoints()) != 1 || one.Msg.GetFlows()[0].GetPoints()[0].GetThroughput() != 25 {
		t.Errorf("over a long time a point is the mean of a step: got %v, %v", one, err)
	}
}
