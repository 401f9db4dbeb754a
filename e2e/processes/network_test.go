package processes

import (
	"fmt"
	"net"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/testkit/program"
	pathsv1 "github.com/millrace/millrace/proto/gen/millrace/paths/v1"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	topologyv1 "github.com/millrace/millrace/proto/gen/millrace/topology/v1"
)

// network is two routers with one link: WR, where transfers enter, and ER,
// where they leave.
func (p *plane) network() *topologyv1.TopologySnapshot {
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
		Area: "0.0.0.0", Source: "WR", Time: timestamppb.New(p.begin),
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

// tellNetwork says on the bus what the topology collector would, had a router
// answered it, and waits until the paths process knows.
func (p *plane) tellNetwork(t *testing.T) {
	t.Helper()
	cfg := bus.DefaultKafkaConfiguration()
	cfg.Brokers = []string{p.kafka}
	b, err := bus.NewKafka(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := b.Publish(t.Context(), bus.TopicTopology, "0.0.0.0", p.network()); err != nil {
		t.Fatal(err)
	}
	program.Until(t, "paths knows both routers", func() (bool, any) {
		r, err := p.paths.Topology(t.Context(), connect.NewRequest(&pathsv1.TopologyRequest{}))
		if err != nil {
			return false, err
		}
		return len(r.Msg.GetSnapshot().GetNodes()) == 2, r.Msg
	})
}

// checkPlanned asks for a change set as an operator does. Now there is a plan,
// with the pair's rule in it, and only the router is missing.
func (p *plane) checkPlanned(t *testing.T, pair string) {
	t.Helper()
	r, err := p.changes.Create(t.Context(), connect.NewRequest(&pushv1.CreateRequest{Policy: "hntes-two-queue", Author: "operator"}))
	if err != nil {
		t.Fatal(err)
	}
	got := r.Msg.GetChange()
	router := net.JoinHostPort(p.host, deadPort)
	refused := fmt.Sprintf("no answer: connect to WR at %s: gNMI Capabilities of WR: rpc error: code = Unavailable desc = connection error: "+
		"desc = \"transport: Error while dialing: dial tcp %s: connect: connection refused\"", router, router)
	last := got.GetHistory()[len(got.GetHistory())-1]
	if want := "nothing was sent; WR: " + refused; got.GetState() != pushv1.State_STATE_FAILED || last.GetNote() != want {
		t.Errorf("got %s because %q, want failed because %q", got.GetState(), last.GetNote(), want)
	}
	if len(got.GetDevices()) != 1 || len(got.GetDevices()[0].GetPlan().GetLsps()) != 1 {
		t.Fatalf("got %v, want one router's part with one LSP", got)
	}
	part := got.GetDevices()[0]
	want := []*policyv1.RedirectRule{{
		Filter: "ingress", Pair: pair, Src: "10.1.0.0/24", Dst: "10.2.0.0/24", Queue: "alpha", Lsp: part.GetPlan().GetLsps()[0].GetName(),
	}}
	if d := cmp.Diff(part.GetPlan().GetRules(), want, protocmp.Transform(), protocmp.IgnoreFields(&policyv1.RedirectRule{}, "sequence")); d != "" || part.GetDevice() != "WR" || part.GetError() != refused {
		t.Errorf("%s failed with %q, rules (-got +want):\n%s", part.GetDevice(), part.GetError(), d)
	}
}
