package circuits

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/etcd"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
	pathsv1 "github.com/millrace/millrace/proto/gen/millrace/paths/v1"
	"github.com/millrace/millrace/proto/gen/millrace/paths/v1/pathsv1connect"
	topologyv1 "github.com/millrace/millrace/proto/gen/millrace/topology/v1"
	"github.com/millrace/millrace/services/circuits/webhook"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// Tests with routers are mostly waiting.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	os.Exit(etcd.Main(m))
}

// The world of these tests: routers a, b and c, each joined to each by 10 Gbit/s, of which circuits may use half; a
// clock that stands; one etcd.
const reservable = 5_000_000_000

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

type world struct {
	t     *testing.T
	store *state.Store
	cfg   Configuration
	pace  webhook.Pace // of webhooks

	mu    sync.Mutex
	now   time.Time
	links map[string]bool     // by "a-b"
	away  bool                // services/paths does not answer
	age   time.Duration       // since anybody has read the network
	codes []string            // of events
	owned map[string]string   // prefix behind a router
	speed uint64              // of ports p1
	delay map[string]uint32   // of links, by "a-b"; none: unknown
	risks map[string][]uint32 // risk groups of links, by "a-b"
	admin map[string][]uint32 // administrative groups of links, by "a-b"
	te    map[string]uint32   // TE metrics of links, by "a-b"; none: the IGP's
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, store: etcd.Shared(t), now: noon, links: map[string]bool{"a-b": true, "b-c": true, "a-c": true}, cfg: DefaultConfiguration(), speed: 8 * giga}
	w.cfg.Topology = 100 * time.Millisecond
	w.cfg.Operators = []string{"noc"}
	w.cfg.Projects = map[string]Project{"astro": {Members: []string{"ann", "abe"}, Holds: 1000}, "bio": {Members: []string{"bea"}}}
	return w
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) set(at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = at
}

func (w *world) link(name string, up bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.links[name] = up
}

// paths is the path service of the world.
type paths struct {
	pathsv1connect.PathsServiceClient
	w *world
}

var routers = map[string]string{"a": "10.0.0.1", "b": "10.0.0.2", "c": "10.0.0.3"}

// linkID is that of the direction from one router to another.
func linkID(from, to string) string {
	return fmt.Sprintf("%s|10.%d.%d.1", routers[from], from[0], to[0])
}

// Topology implements PathsServiceClient.
func (p paths) Topology(context.Context, *connect.Request[pathsv1.TopologyRequest]) (*connect.Response[pathsv1.TopologyResponse], error) {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	if p.w.away {
		return nil, connect.NewError(connect.CodeUnavailable, errors.New("away"))
	}
	s := &topologyv1.TopologySnapshot{Area: "0.0.0.0", Time: timestamppb.Now()}
	for _, name := range []string{"a", "b", "c"} {
		var owned []string
		if p.w.owned[name] != "" {
			owned = []string{p.w.owned[name]}
		}
		s.Nodes = append(s.Nodes, &topologyv1.Node{RouterId: routers[name], SidLabel: 16000, Prefixes: owned, Name: name, Loopback: routers[name], Interfaces: []*topologyv1.Interface{
			{Name: "lo", Addresses: []string{routers[name] + "/32"}}, {Name: "core"}, {Name: "p1", Speed: p.w.speed}, {Name: "p2"}, {Name: "p3", Addresses: []string{"192.0.2.1/24"}},
		}})
	}
	for _, name := range []string{"a-b", "a-c", "b-c"} {
		a, z, _ := strings.Cut(name, "-")
		for _, d := range [][2]string{{a, z}, {z, a}} {
			if p.w.links[name] {
				s.Links = append(s.Links, &topologyv1.Link{
					Id: linkID(d[0], d[1]), LocalRouterId: routers[d[0]], RemoteRouterId: routers[d[1]], IgpMetric: 10, MaxBandwidth: 2 * reservable,
					LocalAddress: strings.Split(linkID(d[0], d[1]), "|")[1], LocalInterface: "core",
					DelayMicroseconds: p.w.delay[name], RiskGroups: p.w.risks[name], AdminGroups: p.w.admin[name], TeMetric: p.w.te[name],
				})
			}
		}
	}
	return connect.NewResponse(&pathsv1.TopologyResponse{Snapshot: s, Age: durationpb.New(p.w.age)}), nil
}

// unread says how long nobody has read the network, though services/paths answers.
func (w *world) unread(age time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.age = age
}

// pathsAway says whether services/paths answers.
func (w *world) pathsAway(away bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.away = away
}

// start is one replica of the service, which knows the topology.
func (w *world) start() *Component { return w.startOn(w.store) }

// startOn is one that has its own way to etcd.
func (w *world) startOn(store *state.Store) *Component {
	t := w.t
	t.Helper()
	memory := bus.NewMemory()
	t.Cleanup(func() { memory.Close() })
	err := memory.Subscribe(t.Context(), bus.TopicEvents, "test", func(_ context.Context, m bus.Message) error {
		e := &eventv1.Event{}
		err := proto.Unmarshal(m.Value, e)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.codes = append(w.codes, e.GetCode())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(w.cfg, Dependencies{State: store, Bus: memory, Paths: paths{w: w}, Log: slog.New(slog.DiscardHandler), Now: w.clock})
	if err != nil {
		t.Fatal(err)
	}
	c.pace = w.pace
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	await.True(t, "the book and the topology are read", func() bool {
		_, err := w.quote(c, w.terms("a", "b", 1))
		return connect.CodeOf(err) != connect.CodeUnavailable
	})
	return c
}

// told waits for an event.
func (w *world) told(code string) {
	w.t.Helper()
	await.True(w.t, "event "+code, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, c := range w.codes {
			if c == code {
				return true
			}
		}
		return false
	})
}

// terms are for 22:00 to 06:00, Gbit/s.
func (w *world) terms(from, to string, gbit int64) *circuitsv1.Terms {
	return &circuitsv1.Terms{
		Project: "astro", From: from, To: to, RateBitsPerSecond: gbit * giga,
		Start: timestamppb.New(noon.Add(10 * time.Hour)), End: timestamppb.New(noon.Add(18 * time.Hour)),
	}
}

func (w *world) quote(c *Component, t *circuitsv1.Terms) (*circuitsv1.QuoteResponse, error) {
	r, err := (&api{c}).Quote(w.t.Context(), connect.NewRequest(&circuitsv1.QuoteRequest{Terms: t, By: "ann"}))
	if err != nil {
		return nil, err
	}
	return r.Msg, nil
}

func (w *world) request(c *Component, id string, t *circuitsv1.Terms, commit bool) (*circuitsv1.Circuit, error) {
	r, err := (&api{c}).Request(w.t.Context(), connect.NewRequest(&circuitsv1.RequestRequest{RequestId: id, Terms: t, By: "ann", Commit: commit}))
	if err != nil {
		return nil, err
	}
	return r.Msg.GetCircuit(), nil
}

// booked is a circuit that must be granted and committed.
func (w *world) booked(c *Component, id string, t *circuitsv1.Terms) *circuitsv1.Circuit {
	w.t.Helper()
	got, err := w.request(c, id, t, true)
	if err != nil {
		w.t.Fatalf("%s: %v", id, err)
	}
	return got
}

func (w *world) get(c *Component, id string) *circuitsv1.Circuit {
	w.t.Helper()
	r, err := (&api{c}).Get(w.t.Context(), connect.NewRequest(&circuitsv1.GetRequest{Id: id}))
	if err != nil {
		w.t.Fatal(err)
	}
	return r.Msg.GetCircuit()
}

// is waits for a circuit's state.
func (w *world) is(c *Component, id string, want circuitsv1.State) {
	w.t.Helper()
	await.True(w.t, id+" is "+want.String(), func() bool { return w.get(c, id).GetState() == want })
}

// refusalIn is the refusal in an error.
func refusalIn(err error) *circuitsv1.Refusal {
	var c *connect.Error
	if !asConnect(err, &c) {
		return nil
	}
	for _, d := range c.Details() {
		if m, err := d.Value(); err == nil {
			if r, ok := m.(*circuitsv1.Refusal); ok {
				return r
			}
		}
	}
	return nil
}
