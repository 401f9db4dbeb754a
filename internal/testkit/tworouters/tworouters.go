// Package tworouters is the smallest network that a policy has something to do in: WR, where transfers enter, and ER,
// where they leave, with one link between them.
//
// In: a Kafka broker and the paths service of processes under test. Out: a topology that they have, as if it were read
// from a router. Next: e2e/processes, e2e/faults.
package tworouters

import (
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/testkit/program"
	pathsv1 "github.com/millrace/millrace/proto/gen/millrace/paths/v1"
	"github.com/millrace/millrace/proto/gen/millrace/paths/v1/pathsv1connect"
	topologyv1 "github.com/millrace/millrace/proto/gen/millrace/topology/v1"
)

// snapshot is the network at a time.
func snapshot(at time.Time) *topologyv1.TopologySnapshot {
	const gigabit = 1_000_000_000
	port := func(address string) []*topologyv1.Interface {
		return []*topologyv1.Interface{{Name: "eth1", Ifindex: 3, Addresses: []string{address}, Speed: gigabit, Up: true}}
	}
	link := func(from, to, local, remote string) *topologyv1.Link {
		return &topologyv1.Link{
			Id: from + "|" + local, LocalRouterId: from, RemoteRouterId: to, LocalAddress: local, RemoteAddress: remote,
			LocalInterface: "eth1", IgpMetric: 10, TeMetric: 10, MaxBandwidth: gigabit,
		}
	}
	return &topologyv1.TopologySnapshot{
		Area: "0.0.0.0", Source: "WR", Time: timestamppb.New(at),
		Nodes: []*topologyv1.Node{
			{RouterId: "192.0.2.1", Name: "WR", Loopback: "192.0.2.1", SidLabel: 16001, Prefixes: []string{"10.1.0.0/24"}, Interfaces: port("198.51.100.1/30")},
			{RouterId: "192.0.2.2", Name: "ER", Loopback: "192.0.2.2", SidLabel: 16002, Prefixes: []string{"10.2.0.0/24"}, Interfaces: port("198.51.100.2/30")},
		},
		Links: []*topologyv1.Link{
			link("192.0.2.1", "192.0.2.2", "198.51.100.1", "198.51.100.2"),
			link("192.0.2.2", "192.0.2.1", "198.51.100.2", "198.51.100.1"),
		},
	}
}

// Tell publishes on the bus what the topology collector would publish of these routers, and waits until the
// paths service has both routers; paths is its URL, or the gateway's, and client reaches it. Changes make it another
// network.
func Tell(t *testing.T, broker string, client connect.HTTPClient, paths string, at time.Time, changes ...func(*topologyv1.TopologySnapshot)) {
	t.Helper()
	cfg := bus.DefaultKafkaConfiguration()
	cfg.Brokers = []string{broker}
	TellOn(t, cfg, client, paths, at, changes...)
}

// TellOn is Tell for brokers that want more than an address.
func TellOn(t *testing.T, cfg bus.KafkaConfiguration, client connect.HTTPClient, paths string, at time.Time, changes ...func(*topologyv1.TopologySnapshot)) {
	t.Helper()
	b, err := bus.NewKafka(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	network := snapshot(at)
	for _, change := range changes {
		change(network)
	}
	if err := b.Publish(t.Context(), bus.TopicTopology, "0.0.0.0", network); err != nil {
		t.Fatal(err)
	}
	service := pathsv1connect.NewPathsServiceClient(client, paths)
	program.Until(t, "paths knows both routers", func() (bool, any) {
		r, err := service.Topology(t.Context(), connect.NewRequest(&pathsv1.TopologyRequest{}))
		if err != nil {
			return false, err
		}
		return len(r.Msg.GetSnapshot().GetNodes()) == 2, r.Msg
	})
}
