package main

import (
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/testkit/await"
	testports "github.com/millrace/millrace/internal/testkit/ports"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	"github.com/millrace/millrace/proto/gen/millrace/alpha/v1/alphav1connect"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
)

// TestAFireflyReachesItsPair: from a host's datagram over collector, bus and store to a pair of a nightly run.
func TestAFireflyReachesItsPair(t *testing.T) {
	address := testports.Loopback(t)
	m := newMachine(t, fmt.Sprintf(`flow: {listen: [], fireflies: {listen: [%q], sources: [127.0.0.0/8]}}
flowstore: {scitags: {registry: api.json}}
`, address))
	m.write(filepath.Join(filepath.Dir(m.file), "api.json"), `{"version": 1, "experiments": [{"expName": "atlas", "expId": 2, "activities": [{"activityName": "Staging", "activityId": 19}]}]}`)
	m.hostedWith(func(p *process) {
		host, err := net.Dial("udp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer host.Close()
		fmt.Fprintf(host, `{"version": 1, "flow-lifecycle": {"state": "start", "start-time": %q}, "context": {"experiment-id": 2, "activity-id": 19},
			"flow-id": {"afi": "ipv4", "src-ip": "10.0.1.1", "dst-ip": "10.1.0.1", "protocol": "tcp", "src-port": 1094, "dst-port": 40000}}`, noon.Format(time.RFC3339Nano))
		exporter := []byte{192, 0, 2, 1}
		record := func(port uint32, octets uint64) *flowv1.FlowRecord {
			return &flowv1.FlowRecord{Exporter: exporter, SrcAddr: []byte{10, 0, 1, 1}, DstAddr: []byte{10, 1, 0, 1}, SrcPort: 1094, DstPort: port, Protocol: 6,
				Start: timestamppb.New(noon), End: timestamppb.New(noon.Add(10 * time.Second)), Bytes: octets, Packets: 1e6, SamplingRate: 1, Source: flowv1.Source_SOURCE_NFCAPD}
		}
		if err := p.bus.Publish(t.Context(), bus.TopicFlows, "x", &flowv1.FlowBatch{
			BatchId: "one", Records: []*flowv1.FlowRecord{record(40000, 3e9), record(40001, 1e9)},
			Quality: []*flowv1.HourQuality{{Exporter: exporter, Source: flowv1.Source_SOURCE_NFCAPD, Hour: timestamppb.New(noon), Collector: "x", Records: 2}},
		}); err != nil {
			t.Fatal(err)
		}
		from, to := timestamppb.New(noon), timestamppb.New(noon.Add(time.Hour))
		store := flowv1connect.NewFlowStoreServiceClient(p.local.Client(), rpc.LocalURL)
		await.True(t, "the firefly is about a stored flow", func() bool {
			r, err := store.TagTraffic(t.Context(), connect.NewRequest(&flowv1.TagTrafficRequest{From: from, To: to}))
			return err == nil && len(r.Msg.GetTags()) == 1
		})
		alpha := alphav1connect.NewAlphaServiceClient(p.local.Client(), rpc.LocalURL)
		r, err := alpha.Nightly(t.Context(), connect.NewRequest(&alphav1.NightlyRequest{From: from, To: to}))
		if err != nil || len(r.Msg.GetAdded()) != 1 {
			t.Fatalf("%v, %v", r, err)
		}
		got := &alphav1.Pair{Tags: r.Msg.GetAdded()[0].GetTags(), SentBytes: r.Msg.GetAdded()[0].GetSentBytes()}
		want := &alphav1.Pair{SentBytes: 4e9, Tags: []*alphav1.PairTag{{Community: 2, CommunityName: "atlas", Activity: 19, ActivityName: "Staging", Bytes: 3e9}}}
		if diff := cmp.Diff(got, want, protocmp.Transform()); diff != "" {
			t.Errorf("the pair (-got +want):\n%s", diff)
		}
	}, "flow")
}
