package split

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	"github.com/millrace/millrace/proto/gen/millrace/policy/v1/policyv1connect"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
	splitv1 "github.com/millrace/millrace/proto/gen/millrace/split/v1"
	"github.com/millrace/millrace/proto/gen/millrace/split/v1/splitv1connect"
)

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// neighbours are the other services as a test scripts them; what is between them and the component is real: Connect,
// etcd and the bus. wr has two ports of 10 Gbit/s on which beta has 5 %.
type neighbours struct {
	policyv1connect.UnimplementedPolicyServiceHandler
	pushv1connect.UnimplementedChangeServiceHandler
	flowv1connect.UnimplementedFlowStoreServiceHandler

	mu      sync.Mutex
	now     time.Time
	split   *policyv1.Split
	ports   []string
	changes []*pushv1.ChangeSet // newest first
	created []*pushv1.CreateRequest
	freezes []*pushv1.Freeze
	// away: services/push takes no change sets; broken: services/policy does not answer.
	away, broken bool
	// hangs: services/policy answers nothing; hung counts its calls that have ended.
	hangs bool
	hung  int
	// beta is what beta sends on each port, of 10 Gbit/s that are full, for two hours before noon and ever after.
	beta   map[string]float64
	asked  []*flowv1.TelemetryRequest
	plans  []*policyv1.PlanRequest
	silent bool
	// quiet are ports that have no counters between two times.
	quiet map[string][2]time.Time
	// planning is called while a plan is made.
	planning func()
}

func (n *neighbours) Plan(ctx context.Context, r *connect.Request[policyv1.PlanRequest]) (*connect.Response[policyv1.PlanResponse], error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.hangs {
		n.mu.Unlock()
		<-ctx.Done()
		n.mu.Lock()
		n.hung++
		return nil, ctx.Err()
	}
	if n.broken {
		return nil, connect.NewError(connect.CodeUnavailable, errors.New("services/policy is not there"))
	}
	n.plans = append(n.plans, r.Msg)
	if n.planning != nil {
		n.planning()
	}
	plan := &policyv1.RouterPlan{Router: "wr", Queues: []*policyv1.Queue{{Name: "beta", Weight: 5}, {Name: "alpha", Weight: 95}}}
	for _, name := range n.ports {
		port := &policyv1.PortScheduling{Interface: name, Speed: 10e9}
		for _, s := range r.Msg.GetSplits() {
			if s.GetInterface() == name {
				port.Split = s.GetBeta()
			}
		}
		plan.Ports = append(plan.Ports, port)
	}
	return connect.NewResponse(&policyv1.PlanResponse{Plans: []*policyv1.RouterPlan{plan}, Split: n.split}), nil
}

func (n *neighbours) List(_ context.Context, r *connect.Request[pushv1.ListRequest]) (*connect.Response[pushv1.ListResponse], error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !r.Msg.GetBrief() {
		return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("plans of a thousand change sets"))
	}
	return connect.NewResponse(&pushv1.ListResponse{Changes: n.changes}), nil
}

func (n *neighbours) ListFreezes(context.Context, *connect.Request[pushv1.ListFreezesRequest]) (*connect.Response[pushv1.ListFreezesResponse], error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return connect.NewResponse(&pushv1.ListFreezesResponse{Freezes: n.freezes}), nil
}

func (n *neighbours) Create(_ context.Context, r *connect.Request[pushv1.CreateRequest]) (*connect.Response[pushv1.CreateResponse], error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.away {
		return nil, connect.NewError(connect.CodeUnavailable, errors.New("services/push is not there"))
	}
	n.created = append(n.created, r.Msg)
	cs := changeSet("c-"+string(rune('0'+len(n.created))), n.now, pushv1.State_STATE_PLANNED)
	cs.Author, cs.ForSplit = r.Msg.GetAuthor(), r.Msg.GetForSplit()
	cs.Splits = slices.Concat(n.inForce(), r.Msg.GetSplits())
	n.changes = slices.Insert(n.changes, 0, cs)
	return connect.NewResponse(&pushv1.CreateResponse{Change: cs}), nil
}

func (n *neighbours) inForce() []*policyv1.PortSplit {
	for _, cs := range n.changes {
		if inForce(cs) {
			return cs.GetSplits()
		}
	}
	return nil
}

// Telemetry has a reading every 10 s.
func (n *neighbours) Telemetry(_ context.Context, r *connect.Request[flowv1.TelemetryRequest]) (*connect.Response[flowv1.TelemetryResponse], error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = append(n.asked, r.Msg)
	out := &flowv1.TelemetryResponse{}
	if n.silent {
		return connect.NewResponse(out), nil
	}
	for port, beta := range n.beta {
		for queue, rate := range map[string]float64{"alpha": 10e9 - beta, "beta": beta} {
			s := &flowv1.TelemetrySeries{Path: "/qos/interfaces/interface[interface-id=" + port + "]/output/queues/queue[name=te-" + queue + "]/state/transmit-octets"}
			for at := noon.Add(-2 * time.Hour); !at.After(n.now); at = at.Add(10 * time.Second) {
				if q := n.quiet[port]; at.After(q[0]) && at.Before(q[1]) {
					continue
				}
				if !at.Before(r.Msg.GetFrom().AsTime()) && at.Before(r.Msg.GetTo().AsTime()) {
					s.Points = append(s.Points, &flowv1.TelemetryPoint{Time: timestamppb.New(at), Value: uint64(at.Sub(noon.Add(-24*time.Hour)).Seconds() * rate / 8)})
				}
			}
			out.Series = append(out.Series, s)
		}
	}
	return connect.NewResponse(out), nil
}

// changeSet of policy hntes-split with a history that leads to its state.
func changeSet(id string, at time.Time, s pushv1.State) *pushv1.ChangeSet {
	return &pushv1.ChangeSet{Id: id, Policy: "hntes-split", Created: timestamppb.New(at), State: s, History: []*pushv1.Transition{{State: s, Time: timestamppb.New(at), By: "push"}}}
}

// rig is a component among its neighbours.
type rig struct {
	c      *Component
	api    splitv1connect.SplitServiceClient
	n      *neighbours
	mu     sync.Mutex
	events []*eventv1.Event
}

// heard waits for an event of a kind.
func (r *rig) heard(t *testing.T, code string) (out *eventv1.Event) {
	t.Helper()
	await.True(t, "event "+code, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		i := slices.IndexFunc(r.events, func(e *eventv1.Event) bool { return e.GetCode() == code })
		if i >= 0 {
			out = r.events[i]
		}
		return i >= 0
	})
	return out
}

// count is of the events of a kind that were heard until now.
func (r *rig) count(code string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.GetCode() == code {
			n++
		}
	}
	return n
}

func store(t *testing.T) *state.Store {
	t.Helper()
	e := state.NewEmbedded(t.TempDir(), state.UnsafeNoFsync)
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Stop(context.Background()) }) //nolint:errcheck // the test is over
	return e.Store()
}

func newNeighbours() *neighbours {
	return &neighbours{
		now: noon, ports: []string{"ge-1", "ge-2"}, beta: map[string]float64{"ge-1": 3e9, "ge-2": 0.2e9},
		split:   &policyv1.Split{Alpha: "alpha", Beta: "beta", Min: 5, Max: 60, Follow: "apply"},
		changes: []*pushv1.ChangeSet{changeSet("day-1", noon.Add(-48*time.Hour), pushv1.State_STATE_VERIFIED)},
	}
}

// newRig is a component that nobody started: the test calls its rounds.
func newRig(t *testing.T, n *neighbours, s *state.Store) *rig {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(policyv1connect.NewPolicyServiceHandler(n, rpc.Bounded(rpc.MaxRequest)))
	mux.Handle(pushv1connect.NewChangeServiceHandler(n, rpc.Bounded(rpc.MaxRequest)))
	mux.Handle(flowv1connect.NewFlowStoreServiceHandler(n, rpc.Bounded(rpc.MaxRequest)))
	local := rpc.NewLocal(mux)
	t.Cleanup(func() { _ = local.Close() })
	b := bus.NewMemory()
	r := &rig{n: n}
	t.Cleanup(func() { b.Close() })
	err := b.Subscribe(t.Context(), bus.TopicEvents, "test", func(_ context.Context, m bus.Message) error {
		e := &eventv1.Event{}
		err := proto.Unmarshal(m.Value, e)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.events = append(r.events, e)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	r.c, err = New(DefaultConfiguration(), Dependencies{
		State: s, Bus: b, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { n.mu.Lock(); defer n.mu.Unlock(); return n.now },
		Policy:  policyv1connect.NewPolicyServiceClient(local.Client(), rpc.LocalURL),
		Changes: pushv1connect.NewChangeServiceClient(local.Client(), rpc.LocalURL),
		Flows:   flowv1connect.NewFlowStoreServiceClient(local.Client(), rpc.LocalURL),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.c.leader.Resign)
	mux.Handle(r.c.Handler())
	r.api = splitv1connect.NewSplitServiceClient(local.Client(), rpc.LocalURL)
	return r
}

// decides makes one round, and returns what the API says after it.
func (r *rig) decides(t *testing.T) *splitv1.StatusResponse {
	t.Helper()
	if err := r.c.round(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, err := r.api.Status(t.Context(), connect.NewRequest(&splitv1.StatusRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	return s.Msg
}

// change scripts the neighbours.
func (r *rig) change(do func(*neighbours)) {
	r.n.mu.Lock()
	defer r.n.mu.Unlock()
	do(r.n)
}

func later(d time.Duration) func(*neighbours) { return func(n *neighbours) { n.now = n.now.Add(d) } }
