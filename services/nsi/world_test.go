package nsi

import (
	"context"
	"flag"
	"log/slog"
	"net/http"
	"os"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/etcd"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/proto/gen/millrace/circuits/v1/circuitsv1connect"
	pathsv1 "github.com/millrace/millrace/proto/gen/millrace/paths/v1"
	"github.com/millrace/millrace/proto/gen/millrace/paths/v1/pathsv1connect"
	topologyv1 "github.com/millrace/millrace/proto/gen/millrace/topology/v1"
	"github.com/millrace/millrace/services/circuits"
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(etcd.Main(m))
}

// paths is the path service of two routers that are joined by 10 Gbit/s, of which circuits may use half.
type paths struct {
	pathsv1connect.PathsServiceClient
}

// Topology implements PathsServiceClient.
func (paths) Topology(context.Context, *connect.Request[pathsv1.TopologyRequest]) (*connect.Response[pathsv1.TopologyResponse], error) {
	s := &topologyv1.TopologySnapshot{Area: "0.0.0.0", Time: timestamppb.Now()}
	for name, id := range map[string]string{"a": "10.0.0.1", "b": "10.0.0.2"} {
		s.Nodes = append(s.Nodes, &topologyv1.Node{RouterId: id, Name: name, Loopback: id, Interfaces: []*topologyv1.Interface{
			{Name: "lo", Addresses: []string{id + "/32"}}, {Name: "core"}, {Name: "p1"},
		}})
	}
	for _, l := range [][3]string{{"10.0.0.1", "10.0.0.2", "10.9.0.1"}, {"10.0.0.2", "10.0.0.1", "10.9.0.2"}} {
		s.Links = append(s.Links, &topologyv1.Link{
			Id: l[0] + "|" + l[2], LocalRouterId: l[0], RemoteRouterId: l[1], LocalAddress: l[2], IgpMetric: 10, MaxBandwidth: 10_000_000_000, LocalInterface: "core",
		})
	}
	return connect.NewResponse(&pathsv1.TopologyResponse{Snapshot: s}), nil
}

const (
	ourNSA   = "urn:ogf:network:millrace.example:2026:nsa"
	ourNet   = "urn:ogf:network:millrace.example:2026:topology"
	theirNSA = "urn:ogf:network:aggregator.example:2026:nsa"
)

// world is the provider before the real services/circuits, with one etcd.
type world struct {
	t        *testing.T
	store    *state.Store
	cfg      Configuration
	circuits circuitsv1connect.CircuitsServiceClient
	failed   func(error)
	events   *events.Publisher
	now      func() time.Time
}

func newWorld(t *testing.T, configure ...func(*circuits.Configuration)) *world {
	t.Helper()
	w := &world{t: t, store: etcd.Shared(t), cfg: DefaultConfiguration()}
	w.cfg.Listen, w.cfg.URL, w.cfg.NSA, w.cfg.Topology, w.cfg.Name = "127.0.0.1:0", "http://127.0.0.1:8450", ourNSA, ourNet, "Millrace"
	w.cfg.STPs = map[string]STP{
		"west": {Router: "a", Port: "p1", VLANs: "1780-1799"}, "east": {Router: "b", Port: "p1", VLANs: "1780-1799"},
		"lab": {Router: "a", Prefixes: []string{"192.0.2.0/26"}}, "site": {Router: "b", Prefixes: []string{"198.51.100.0/26"}},
	}
	w.cfg.Requesters = map[string]Requester{theirNSA: {Project: "nsi", By: "aggregator"}}
	memory := bus.NewMemory()
	t.Cleanup(func() { memory.Close() })
	book := circuits.DefaultConfiguration()
	book.Projects = map[string]circuits.Project{"nsi": {Members: []string{"aggregator"}}}
	for _, change := range configure {
		change(&book)
	}
	c, err := circuits.New(book, circuits.Dependencies{State: w.store, Bus: memory, Paths: paths{}, Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	must(t, c.Start(t.Context()))
	t.Cleanup(func() { c.Stop(context.Background()) }) //nolint:errcheck // the test ends
	mux := http.NewServeMux()
	mux.Handle(c.Handler())
	local := rpc.NewLocal(mux)
	t.Cleanup(func() { local.Close() })
	w.circuits = circuitsv1connect.NewCircuitsServiceClient(local.Client(), rpc.LocalURL)
	await.True(t, "the topology is read", func() bool {
		_, err := w.circuits.Calendar(t.Context(), connect.NewRequest(&circuitsv1.CalendarRequest{}))
		return err == nil
	})
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// mayCall lets callbacks go somewhere.
func (w *world) mayCall(url string) {
	r := w.cfg.Requesters[theirNSA]
	r.ReplyTo = []string{url}
	w.cfg.Requesters[theirNSA] = r
}

// start is one replica of the provider.
func (w *world) start() *Component {
	w.t.Helper()
	c, err := New(w.cfg, Dependencies{State: w.store, Circuits: w.circuits, Log: slog.New(slog.DiscardHandler), Failed: w.failed, Events: w.events, Now: w.now})
	must(w.t, err)
	must(w.t, c.Start(w.t.Context()))
	w.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := c.Stop(ctx); err != nil {
			w.t.Error(err)
		}
	})
	return c
}
