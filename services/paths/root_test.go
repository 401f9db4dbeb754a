package paths

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/topo"
	pathsv1 "github.com/millrace/millrace/proto/gen/millrace/paths/v1"
	"github.com/millrace/millrace/proto/gen/millrace/paths/v1/pathsv1connect"
	"github.com/millrace/millrace/services/paths/compute"
)

// testbed is paper 002's: wr–er direct, wr–cr–er the detour.
func testbed() topo.Snapshot {
	at := netip.MustParseAddr
	node := func(name, id string, label uint32, prefixes ...string) topo.Node {
		n := topo.Node{ID: at(id), Name: name, Loopback: at(id), SIDLabel: label}
		for _, p := range prefixes {
			n.Prefixes = append(n.Prefixes, netip.MustParsePrefix(p))
		}
		return n
	}
	s := topo.Snapshot{Area: "0.0.0.0", Source: "wr", Time: time.Unix(1700000000, 0).UTC(), Nodes: []topo.Node{
		node("wr", "10.255.0.1", 16001, "10.1.0.0/24"),
		node("er", "10.255.0.2", 16002, "10.2.0.0/25", "10.2.0.128/25"),
		node("cr", "10.255.0.3", 16003),
	}}
	for _, l := range []struct{ from, to, local, remote string }{
		{"10.255.0.1", "10.255.0.2", "10.0.1.1", "10.0.1.2"},
		{"10.255.0.1", "10.255.0.3", "10.0.2.1", "10.0.2.2"},
		{"10.255.0.3", "10.255.0.2", "10.0.3.1", "10.0.3.2"},
	} {
		there := topo.Link{
			ID: l.from + "|" + l.local, From: at(l.from), To: at(l.to), LocalAddress: at(l.local), RemoteAddress: at(l.remote),
			Metric: 10, Bandwidth: 100e6,
		}
		back := there
		back.ID, back.From, back.To = l.to+"|"+l.remote, there.To, there.From
		back.LocalAddress, back.RemoteAddress = there.RemoteAddress, there.LocalAddress
		s.Links = append(s.Links, there, back)
	}
	return s
}

// start serves the component the way `millrace up` does and waits for the snapshot.
func start(t *testing.T, snapshots ...topo.Snapshot) (pathsv1connect.PathsServiceClient, *bus.Memory) {
	t.Helper()
	b := bus.NewMemory()
	for _, s := range snapshots {
		if err := b.Publish(t.Context(), bus.TopicTopology, s.Area, s.ToProto()); err != nil {
			t.Fatal(err)
		}
	}
	c, err := New(DefaultConfiguration(), Dependencies{Bus: b, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle(c.Handler())
	local := rpc.NewLocal(mux)
	t.Cleanup(func() {
		c.Stop(t.Context())
		b.Close()
		local.Close()
	})
	client := pathsv1connect.NewPathsServiceClient(local.Client(), rpc.LocalURL)
	if len(snapshots) > 0 {
		awaitNodes(t, client, len(snapshots[len(snapshots)-1].Nodes))
	}
	return client, b
}

func awaitNodes(t *testing.T, client pathsv1connect.PathsServiceClient, nodes int) {
	t.Helper()
	await.True(t, fmt.Sprintf("the topology has %d nodes", nodes), func() bool {
		r, err := client.Topology(t.Context(), connect.NewRequest(&pathsv1.TopologyRequest{}))
		if err != nil {
			t.Fatal(err)
		}
		return len(r.Msg.GetSnapshot().GetNodes()) == nodes
	})
}

func TestComputeOverTheAPI(t *testing.T) {
	client, _ := start(t, testbed())
	// Routers may be named in any of the three ways.
	r, err := client.Compute(t.Context(), connect.NewRequest(&pathsv1.ComputeRequest{From: "wr", To: "10.255.0.2", AvoidShortest: true}))
	if err != nil {
		t.Fatal(err)
	}
	want := &pathsv1.Path{
		Nodes: []string{"wr", "cr", "er"}, Links: []string{"10.255.0.1|10.0.2.1", "10.255.0.3|10.0.3.1"},
		IgpCost: 20, Bottleneck: 100e6, Segments: []string{"10.255.0.3", "10.255.0.2"},
		Reason: "wr–cr–er, IGP cost 20; shares no link with the IGP's shortest (wr–er at cost 10), which stays with the other traffic",
	}
	if diff := cmp.Diff(r.Msg.GetPath(), want, protocmp.Transform()); diff != "" {
		t.Errorf("path (-got +want):\n%s", diff)
	}
}

func TestTopologyIsServedAsItCame(t *testing.T) {
	client, _ := start(t, testbed())
	r, err := client.Topology(t.Context(), connect.NewRequest(&pathsv1.TopologyRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	want := testbed().ToProto()
	if diff := cmp.Diff(r.Msg.GetSnapshot(), want, protocmp.Transform(),
		protocmp.SortRepeatedFields(want, "links", "nodes")); diff != "" {
		t.Errorf("snapshot (-got +want):\n%s", diff)
	}
}

// TestTheSameNetworkReadAgain: the topology is as old as the last reading, and the graph is not made anew for it.
func TestTheSameNetworkReadAgain(t *testing.T) {
	c, err := New(DefaultConfiguration(), Dependencies{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	read := func(s topo.Snapshot) *pathsv1.TopologyResponse {
		raw, err := proto.Marshal(s.ToProto())
		if err == nil {
			err = c.take(t.Context(), bus.Message{Key: s.Area, Value: raw})
		}
		if err != nil {
			t.Fatal(err)
		}
		r, err := (&api{c}).Topology(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return r.Msg
	}
	before, err := (&api{c}).Topology(t.Context(), nil)
	if err != nil || before.Msg.GetAge() != nil {
		t.Errorf("before the first snapshot: age %v, %v", before.Msg.GetAge(), err)
	}
	s := testbed()
	if got := read(s); got.GetAge().AsDuration() < 365*24*time.Hour { // the testbed was read in 2023, and kept by the topic
		t.Errorf("the first snapshot is %s old", got.GetAge().AsDuration())
	}
	graph := c.view.Load().graph
	s.Time, s.Source = time.Now().UTC(), "er"
	got := read(s)
	if got.GetAge() == nil || got.GetAge().AsDuration() > time.Hour {
		t.Errorf("the snapshot that has just come is %v old", got.GetAge())
	}
	if got.GetSnapshot().GetSource() != "er" || !got.GetSnapshot().GetTime().AsTime().Equal(s.Time) || c.view.Load().graph != graph {
		t.Errorf("from %s at %s, the same graph: %t", got.GetSnapshot().GetSource(), got.GetSnapshot().GetTime().AsTime(), c.view.Load().graph == graph)
	}
	s.Links = s.Links[:2]
	if got := read(s); len(got.GetSnapshot().GetLinks()) != 2 || c.view.Load().graph == graph {
		t.Errorf("%d links of another network", len(got.GetSnapshot().GetLinks()))
	}
}

func TestAnswersFollowTheNetwork(t *testing.T) {
	client, b := start(t, testbed())
	s := testbed()
	s.Nodes = s.Nodes[:2]
	s.Links = s.Links[:2]
	if err := b.Publish(t.Context(), bus.TopicTopology, s.Area, s.ToProto()); err != nil {
		t.Fatal(err)
	}
	awaitNodes(t, client, 2)
	r, err := client.Compute(t.Context(), connect.NewRequest(&pathsv1.ComputeRequest{From: "wr", To: "er", AvoidShortest: true}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.Msg.GetPath().GetNodes(), []string{"wr", "er"}); diff != "" {
		t.Errorf("nodes after cr died (-got +want):\n%s", diff)
	}
}

func TestABrokenSnapshotIsDropped(t *testing.T) {
	client, b := start(t, testbed())
	broken := testbed().ToProto()
	broken.Nodes[0].RouterId = "not an address"
	if err := b.Publish(t.Context(), bus.TopicTopology, broken.Area, broken); err != nil {
		t.Fatal(err)
	}
	// The next good one shows that the broken one was passed and not retried for ever.
	next := testbed()
	next.Nodes = next.Nodes[:2]
	if err := b.Publish(t.Context(), bus.TopicTopology, next.Area, next.ToProto()); err != nil {
		t.Fatal(err)
	}
	awaitNodes(t, client, 2)
}

func TestTwoAreasAreOneGraph(t *testing.T) {
	zero, one := testbed(), testbed()
	one.Area, one.Source = "0.0.0.1", "er"
	far := topo.Node{ID: netip.MustParseAddr("10.255.0.4"), Name: "fr", Loopback: netip.MustParseAddr("10.255.0.4"), SIDLabel: 16004}
	er := one.Nodes[1]
	one.Nodes = []topo.Node{er, far}
	one.Links = []topo.Link{
		{ID: "a", From: er.ID, To: far.ID, Metric: 5, Bandwidth: 100e6},
		{ID: "b", From: far.ID, To: er.ID, Metric: 5, Bandwidth: 100e6},
	}
	client, b := start(t, zero)
	if err := b.Publish(t.Context(), bus.TopicTopology, one.Area, one.ToProto()); err != nil {
		t.Fatal(err)
	}
	awaitNodes(t, client, 4)
	r, err := client.Compute(t.Context(), connect.NewRequest(&pathsv1.ComputeRequest{From: "wr", To: "fr"}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.Msg.GetPath().GetNodes(), []string{"wr", "er", "fr"}); diff != "" {
		t.Errorf("nodes (-got +want):\n%s", diff)
	}
}

func TestErrorsHaveCodes(t *testing.T) {
	client, _ := start(t, testbed())
	empty, _ := start(t)
	compute := func(c pathsv1connect.PathsServiceClient, m *pathsv1.ComputeRequest) error {
		_, err := c.Compute(t.Context(), connect.NewRequest(m))
		return err
	}
	locate := func(p string) error {
		_, err := client.PrefixOwners(t.Context(), connect.NewRequest(&pathsv1.PrefixOwnersRequest{Prefix: p}))
		return err
	}
	for name, tc := range map[string]struct {
		err  error
		code connect.Code
	}{
		"an unknown router":               {compute(client, &pathsv1.ComputeRequest{From: "wr", To: "xx"}), connect.CodeNotFound},
		"an unknown link":                 {compute(client, &pathsv1.ComputeRequest{From: "wr", To: "er", ExcludeLinks: []string{"x"}}), connect.CodeNotFound},
		"the same router twice":           {compute(client, &pathsv1.ComputeRequest{From: "wr", To: "10.255.0.1"}), connect.CodeInvalidArgument},
		"more bandwidth than there is":    {compute(client, &pathsv1.ComputeRequest{From: "wr", To: "er", MinBandwidth: 1e9}), connect.CodeFailedPrecondition},
		"no topology yet":                 {compute(empty, &pathsv1.ComputeRequest{From: "wr", To: "er"}), connect.CodeNotFound},
		"a prefix that nobody originates": {locate("192.0.2.0/24"), connect.CodeNotFound},
		"no prefix":                       {locate("wr"), connect.CodeInvalidArgument},
	} {
		if connect.CodeOf(tc.err) != tc.code {
			t.Errorf("%s: %v, want %v", name, tc.err, tc.code)
		}
	}
}

func TestLocate(t *testing.T) {
	client, _ := start(t, testbed())
	for name, tc := range map[string]struct {
		prefix string
		want   []string
	}{
		"a host in an originated network":    {"10.1.0.7", []string{"wr"}},
		"an originated network":              {"10.1.0.0/24", []string{"wr"}},
		"a network originated in two halves": {"10.2.0.0/24", []string{"er"}},
		"a loopback, originated or not":      {"10.255.0.3/32", []string{"cr"}},
		"host bits in a prefix are ignored":  {"10.1.0.9/24", []string{"wr"}},
		"an area wider than several sites":   {"10.0.0.0/8", []string{"wr", "er", "cr"}},
	} {
		r, err := client.PrefixOwners(t.Context(), connect.NewRequest(&pathsv1.PrefixOwnersRequest{Prefix: tc.prefix}))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(r.Msg.GetRouters(), tc.want); diff != "" {
			t.Errorf("%s (-got +want):\n%s", name, diff)
		}
	}
}

func TestEcmpOverTheAPI(t *testing.T) {
	client, _ := start(t, testbed())
	r, err := client.Ecmp(t.Context(), connect.NewRequest(&pathsv1.EcmpRequest{From: "wr", To: "er"}))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Msg.GetPaths()) != 1 || r.Msg.GetPaths()[0].GetReason() != "the IGP's only shortest path" {
		t.Errorf("paths %v, want the one direct path", r.Msg.GetPaths())
	}
}

func TestATopologyWithoutAnIndexIsAnsweredToo(t *testing.T) {
	v := newView(map[string]topo.Snapshot{"0.0.0.0": testbed()})
	bare := &view{graph: v.graph, index: func() *compute.Index { return nil }}
	from, to := v.graph.Nodes()[0], v.graph.Nodes()[1]
	r := compute.Request{From: from, To: to, AvoidShortest: true}
	equal := cmp.Comparer(func(a, b netip.Addr) bool { return a == b })
	prefixes := cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })
	want, err := v.path(r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := bare.path(r)
	if diff := cmp.Diff(got, want, equal, prefixes); diff != "" || err != nil {
		t.Errorf("path, error %v (-without +with):\n%s", err, diff)
	}
	wantAll, err := v.equal(from, to)
	if err != nil {
		t.Fatal(err)
	}
	all, err := bare.equal(from, to)
	if diff := cmp.Diff(all, wantAll, equal, prefixes); diff != "" || err != nil {
		t.Errorf("equal paths, error %v (-without +with):\n%s", err, diff)
	}
}
