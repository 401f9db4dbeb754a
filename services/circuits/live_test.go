package circuits

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/gnmiclient/gnmitest"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/etcd"
	"github.com/millrace/millrace/internal/topo"
	"github.com/millrace/millrace/proto/gen/millrace/alpha/v1/alphav1connect"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/proto/gen/millrace/circuits/v1/circuitsv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/paths/v1/pathsv1connect"
	"github.com/millrace/millrace/proto/gen/millrace/policy/v1/policyv1connect"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
	pathservice "github.com/millrace/millrace/services/paths"
	"github.com/millrace/millrace/services/policy"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/policytest"
	"github.com/millrace/millrace/services/policy/render/openconfig"
	"github.com/millrace/millrace/services/push"
	"github.com/millrace/millrace/services/push/driver"
	driveroc "github.com/millrace/millrace/services/push/driver/openconfig"
	"github.com/millrace/millrace/services/push/pushtest"
)

// live is the network of policies/golden/circuits-two-queue with everything real but its routers: services/paths,
// policy and push, one etcd, and replicas of this service, on the clock of the machine. Links have 100 Mbit/s, of which
// circuits may use 50.
type live struct {
	t        *testing.T
	world    *world
	routers  map[string]*pushtest.Router
	bus      bus.Bus
	mux      *http.ServeMux
	local    *rpc.Local
	snapshot topo.Snapshot
	changes  pushv1connect.ChangeServiceClient
	plans    policyv1connect.PolicyServiceClient
	// book is the replica that services/policy asks.
	book atomic.Pointer[Component]
	// before is what routers hold without a circuit.
	before map[string]map[string]string
}

const policyOfCircuits = "circuits-two-queue"

func newLive(t *testing.T, configure ...func(*push.Configuration)) *live {
	t.Helper()
	return newLiveUnder(t, policy.DefaultConfiguration(), configure...)
}

// newLiveUnder is newLive with policies of the test's own.
func newLiveUnder(t *testing.T, of policy.Configuration, configure ...func(*push.Configuration)) *live {
	t.Helper()
	w := &live{t: t, routers: map[string]*pushtest.Router{}, bus: bus.NewMemory(), mux: http.NewServeMux()}
	t.Cleanup(func() { w.bus.Close() })
	w.local = rpc.NewLocal(w.mux)
	t.Cleanup(func() { w.local.Close() })
	w.world = &world{t: t, store: etcd.Shared(t), now: noon, cfg: DefaultConfiguration()}
	w.world.cfg.Topology, w.world.cfg.Provision.Policy = 100*time.Millisecond, policyOfCircuits
	w.world.cfg.TopologyAge = time.Hour // it is published once
	w.world.cfg.Projects = map[string]Project{"astro": {Members: []string{"ann"}}}
	certs := gnmitest.NewCerts(t)
	inv := w.network(certs)
	w.publish(w.snapshot)
	log := slog.New(slog.DiscardHandler)
	graph, err := pathservice.New(pathservice.DefaultConfiguration(), pathservice.Dependencies{Bus: w.bus, Log: log})
	must(t, err)
	plans, err := policy.New(of, policy.Dependencies{
		Inventory: inv, Log: log,
		Renderers: policy.Renderers{device.OSMillrace: {Syntax: "openconfig", Encoding: configentry.JSONIETF, Entries: openconfig.Entries, Text: openconfig.Text, Frames: compile.FramesVXLAN}},
		Alpha:     alphav1connect.NewAlphaServiceClient(w.local.Client(), rpc.LocalURL),
		Paths:     pathsv1connect.NewPathsServiceClient(w.local.Client(), rpc.LocalURL),
		Circuits:  circuitsv1connect.NewCircuitsServiceClient(w.local.Client(), rpc.LocalURL),
	})
	must(t, err)
	cfg := push.DefaultConfiguration()
	// No push dies here, so that no lock has to expire, and no router, so that none is given up. VerifyFor is how long
	// an LSP may stay down.
	cfg.LockTTL, cfg.VerifyFor = 10*time.Minute, time.Second
	cfg.CallTimeout, cfg.CommitTimeout, cfg.RollbackAfter = await.Patience, 10*time.Minute, 10*time.Minute
	for _, change := range configure {
		change(&cfg)
	}
	changes, err := push.New(cfg, push.Dependencies{
		Inventory: inv, State: w.world.store, Bus: w.bus, Log: log, Policy: policyv1connect.NewPolicyServiceClient(w.local.Client(), rpc.LocalURL),
		Vendors: driver.Vendors{device.OSMillrace: {Encoding: configentry.JSONIETF, Opener: driveroc.Opener{Credentials: certs.Client}}},
	})
	must(t, err)
	w.mux.Handle(circuitsv1connect.NewCircuitsServiceHandler(asked{w: w}, rpc.Bounded(rpc.MaxRequest)))
	for _, c := range []interface {
		Handler() (string, http.Handler)
		Start(context.Context) error
		Stop(context.Context) error
	}{graph, plans, changes} {
		w.mux.Handle(c.Handler())
		must(t, c.Start(t.Context()))
		t.Cleanup(func() { c.Stop(context.Background()) }) //nolint:errcheck // the test ends
	}
	w.plans = policyv1connect.NewPolicyServiceClient(w.local.Client(), rpc.LocalURL)
	w.changes = pushv1connect.NewChangeServiceClient(w.local.Client(), rpc.LocalURL)
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// asked is CircuitsService as services/policy reaches it.
type asked struct {
	circuitsv1connect.UnimplementedCircuitsServiceHandler
	w *live
}

// List implements CircuitsService.
func (a asked) List(ctx context.Context, r *connect.Request[circuitsv1.ListRequest]) (*connect.Response[circuitsv1.ListResponse], error) {
	c := a.w.book.Load()
	if c == nil {
		return nil, connect.NewError(connect.CodeUnavailable, errors.New("no replica"))
	}
	return (&api{c}).List(ctx, r)
}

// network makes the routers, the inventory and the topology.
func (w *live) network(certs gnmitest.Certs) *device.Inventory {
	in := policytest.Read(w.t, policyOfCircuits)
	w.snapshot = topo.Snapshot{Area: "0.0.0.0", Source: "wr", Time: time.Now()}
	inv := &device.Inventory{}
	ids, addresses := map[string]netip.Addr{}, map[string]netip.Addr{}
	for i, r := range in.Routers {
		n := topo.Node{ID: r.Loopback, Name: r.Name, Loopback: r.Loopback, SIDLabel: 16000 + uint32(i)}
		ids[r.Name] = r.Loopback
		for _, port := range r.Interfaces {
			n.Interfaces = append(n.Interfaces, topo.Interface{Name: port.Name, Addresses: port.Addresses, Speed: uint64(port.Speed), Up: true})
			for _, a := range port.Addresses {
				addresses[r.Name+" "+port.Name] = a.Addr()
			}
		}
		w.snapshot.Nodes = append(w.snapshot.Nodes, n)
		w.routers[r.Name] = pushtest.Start(w.t, r.Name, certs)
		d := w.routers[r.Name].Device
		d.Loopback = r.Loopback
		inv.Devices = append(inv.Devices, d)
	}
	for _, l := range in.Links {
		w.snapshot.Links = append(w.snapshot.Links, topo.Link{
			ID: l.ID, From: ids[l.From], To: ids[l.To], Interface: l.Egress, Metric: 10, Bandwidth: uint64(l.Bandwidth),
			LocalAddress: addresses[l.From+" "+l.Egress], RemoteAddress: addresses[l.To+" "+l.Ingress],
		})
	}
	return inv
}

func (w *live) publish(s topo.Snapshot) {
	w.t.Helper()
	must(w.t, w.bus.Publish(w.t.Context(), bus.TopicTopology, s.Area, s.ToProto()))
}

// without takes links away that join two routers, in both directions, or brings all back.
func (w *live) without(a, z string) {
	w.t.Helper()
	s := w.snapshot
	s.Links = nil
	name := map[netip.Addr]string{}
	for _, n := range s.Nodes {
		name[n.ID] = n.Name
	}
	for _, l := range w.snapshot.Links {
		if ends := name[l.From] + name[l.To]; ends != a+z && ends != z+a {
			s.Links = append(s.Links, l)
		}
	}
	w.publish(s)
}

// replica is one of this service; services/policy asks the last one. through is how it reaches services/push.
func (w *live) replica(through pushv1connect.ChangeServiceClient) *Component {
	t := w.t
	t.Helper()
	c, err := New(w.world.cfg, Dependencies{
		State: w.world.store, Bus: w.bus, Log: slog.New(slog.DiscardHandler), Changes: through, Policy: w.plans,
		Paths: pathsv1connect.NewPathsServiceClient(w.local.Client(), rpc.LocalURL),
	})
	must(t, err)
	must(t, c.Start(t.Context()))
	t.Cleanup(func() { c.Stop(context.Background()) }) //nolint:errcheck // the test ends
	await.True(t, "the book and the topology are read", func() bool {
		_, err := w.world.quote(c, w.from("wr", "192.0.2.0/26", 1))
		return connect.CodeOf(err) != connect.CodeUnavailable
	})
	w.book.Store(c)
	return c
}

// queues puts the policy in force without any circuit, as an operator does once.
func (w *live) queues() {
	w.t.Helper()
	w.applied("queues")
	w.before = map[string]map[string]string{}
	for name, router := range w.routers {
		w.before[name] = router.Entries()
	}
}

// applied puts the policy in force as it is now.
func (w *live) applied(name string) {
	w.t.Helper()
	r, err := w.changes.Create(w.t.Context(), connect.NewRequest(&pushv1.CreateRequest{Author: "noc", Policy: policyOfCircuits, IdempotencyKey: name}))
	must(w.t, err)
	id := r.Msg.GetChange().GetId()
	_, err = w.changes.Approve(w.t.Context(), connect.NewRequest(&pushv1.ApproveRequest{Id: id, By: "noc", Apply: true}))
	must(w.t, err)
	w.ends(id, pushv1.State_STATE_VERIFIED)
}

func (w *live) ends(id string, want pushv1.State) {
	w.t.Helper()
	await.True(w.t, "change set "+id+" is "+want.String(), func() bool {
		r, err := w.changes.Get(w.t.Context(), connect.NewRequest(&pushv1.GetRequest{Id: id}))
		must(w.t, err)
		if s := r.Msg.GetChange().GetState(); s == pushv1.State_STATE_FAILED || s == pushv1.State_STATE_ROLLED_BACK {
			w.t.Fatalf("change set %s: %v", id, r.Msg.GetChange().GetHistory())
		}
		return r.Msg.GetChange().GetState() == want
	})
}

// from is open-ended, from now on, to er.
func (w *live) from(router, source string, mbit int64) *circuitsv1.Terms {
	return &circuitsv1.Terms{
		Project: "astro", From: router, To: "er", RateBitsPerSecond: mbit * mega,
		Pairs: []*circuitsv1.PrefixPair{{Source: source, Destination: "198.51.100.0/26"}},
	}
}

// asked lists the change sets of circuits, oldest first.
func (w *live) asked() (out []*pushv1.ChangeSet) {
	w.t.Helper()
	r, err := w.changes.List(w.t.Context(), connect.NewRequest(&pushv1.ListRequest{}))
	must(w.t, err)
	for _, cs := range r.Msg.GetChanges() {
		if cs.GetForCircuits() {
			out = append([]*pushv1.ChangeSet{cs}, out...)
		}
	}
	return out
}

// holds reports whether a router has the LSP of a circuit.
func (w *live) holds(router, id string) bool {
	for path := range w.routers[router].Entries() {
		if strings.Contains(path, "te-circuit-"+id) {
			return true
		}
	}
	return false
}

// asBefore checks that routers have the config they had without any circuit.
func (w *live) asBefore() {
	w.t.Helper()
	for name, was := range w.before {
		if is := w.routers[name].Entries(); !maps.Equal(was, is) {
			w.t.Errorf("router %s held %d entries before any circuit, and holds %d", name, len(was), len(is))
		}
	}
}

func (w *live) release(c *Component, id string) {
	w.t.Helper()
	_, err := (&api{c}).Release(w.t.Context(), connect.NewRequest(&circuitsv1.ReleaseRequest{Id: id, By: "ann"}))
	must(w.t, err)
}

// in is a moment of whole seconds from now on.
func in(seconds int64) *timestamppb.Timestamp {
	return timestamppb.New(time.Unix(time.Now().Unix()+seconds, 0))
}
