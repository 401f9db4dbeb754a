package alpha

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	"github.com/millrace/millrace/proto/gen/millrace/alpha/v1/alphav1connect"
	"github.com/millrace/millrace/proto/gen/millrace/circuits/v1/circuitsv1connect"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
)

// neighbours are the other services as a test scripts them; everything between
// them and the component is real: Connect, etcd, the bus.
type neighbours struct {
	flowv1connect.UnimplementedFlowStoreServiceHandler
	pushv1connect.UnimplementedChangeServiceHandler

	mu       sync.Mutex
	sums     []*flowv1.IntervalsResponse
	lastSeen map[string]time.Time // by "src dst" at wr
	// tags are what the store knows of pairs, by "src dst"; tagsFail is why it does not say.
	tags     map[string]*flowv1.PairTags
	tagsFail error
	// hours are the export quality that the store returns; nil means complete for every exporter.
	hours   []*flowv1.HourQuality
	noFlows bool
	// storeFails is how many more interval queries fail.
	storeFails int
	// pushDown: services/push is away; answersLost: it takes requests, and its answers do not arrive.
	pushDown    bool
	answersLost bool
	// telemetry are the counters that the store has of every router.
	telemetry  []*flowv1.TelemetrySeries
	asked      *flowv1.IntervalsRequest
	askedSince time.Time
	created    []*pushv1.CreateRequest
	// states are those of change sets by id, also from the first answer on.
	states map[string]pushv1.State
	// onCreate runs while the nightly run waits for services/push, as services/policy does.
	onCreate func()
}

func (n *neighbours) Intervals(_ context.Context, req *connect.Request[flowv1.IntervalsRequest], out *connect.ServerStream[flowv1.IntervalsResponse]) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = req.Msg
	if n.storeFails > 0 {
		n.storeFails--
		return connect.NewError(connect.CodeUnavailable, errors.New("the store restarts"))
	}
	from, to := req.Msg.GetFrom().AsTime(), req.Msg.GetTo().AsTime()
	for _, s := range n.sums {
		if at := s.GetIntervalStart().AsTime(); at.Before(from) || !at.Before(to) || s.GetBytes() <= req.Msg.GetMinBytes() {
			continue
		}
		if err := out.Send(s); err != nil {
			return err
		}
	}
	return nil
}

func (n *neighbours) Telemetry(_ context.Context, req *connect.Request[flowv1.TelemetryRequest]) (*connect.Response[flowv1.TelemetryResponse], error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := &flowv1.TelemetryResponse{}
	for _, s := range n.telemetry {
		if strings.HasPrefix(s.GetPath(), req.Msg.GetPathPrefix()) {
			out.Series = append(out.Series, s)
		}
	}
	return connect.NewResponse(out), nil
}

func (n *neighbours) LastSeen(_ context.Context, req *connect.Request[flowv1.LastSeenRequest]) (*connect.Response[flowv1.LastSeenResponse], error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := &flowv1.LastSeenResponse{}
	n.askedSince = req.Msg.GetSince().AsTime()
	for _, p := range req.Msg.GetPairs() {
		seen := &flowv1.PairSeen{Pair: p}
		if at, ok := n.lastSeen[p.GetSrc()+" "+p.GetDst()]; ok && p.GetExporter() == wr {
			seen.LastSeen = timestamppb.New(at)
		}
		out.Pairs = append(out.Pairs, seen)
	}
	return connect.NewResponse(out), nil
}

func (n *neighbours) PairTags(_ context.Context, req *connect.Request[flowv1.PairTagsRequest]) (*connect.Response[flowv1.PairTagsResponse], error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := &flowv1.PairTagsResponse{}
	for _, p := range req.Msg.GetPairs() {
		t := n.tags[p.GetSrc()+" "+p.GetDst()]
		if t == nil || p.GetExporter() != wr {
			t = &flowv1.PairTags{}
		}
		out.Pairs = append(out.Pairs, t)
	}
	return connect.NewResponse(out), n.tagsFail
}

func (n *neighbours) Top(context.Context, *connect.Request[flowv1.TopRequest]) (*connect.Response[flowv1.TopResponse], error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := &flowv1.TopResponse{}
	if !n.noFlows {
		out.Pairs = []*flowv1.PairBytes{{Bytes: 1}}
	}
	return connect.NewResponse(out), nil
}

func (n *neighbours) ExportQuality(_ context.Context, req *connect.Request[flowv1.ExportQualityRequest], out *connect.ServerStream[flowv1.ExportQualityResponse]) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	hours := n.hours
	if hours == nil {
		exporters := map[string]bool{wr: true}
		for _, s := range n.sums {
			exporters[s.GetExporter()] = true
		}
		for e := range exporters {
			for at := req.Msg.GetFrom().AsTime(); at.Before(req.Msg.GetTo().AsTime()); at = at.Add(time.Hour) {
				hours = append(hours, exportHour(e, at, nil))
			}
		}
	}
	for _, h := range hours {
		at := h.GetHour().AsTime()
		if !at.Add(time.Hour).After(req.Msg.GetFrom().AsTime()) || !at.Before(req.Msg.GetTo().AsTime()) {
			continue
		}
		if err := out.Send(&flowv1.ExportQualityResponse{Quality: h}); err != nil {
			return err
		}
	}
	return nil
}

// exportHour is an hour as it should be, unless changed.
func exportHour(exporter string, at time.Time, change func(*flowv1.HourQuality)) *flowv1.HourQuality {
	h := &flowv1.HourQuality{
		Exporter: netip.MustParseAddr(exporter).AsSlice(), Source: flowv1.Source_SOURCE_NETFLOW_V9, Hour: timestamppb.New(at.Truncate(time.Hour)),
		Datagrams: 10, Records: 100, Received: 10,
	}
	if change != nil {
		change(h)
	}
	return h
}

func (n *neighbours) Create(_ context.Context, req *connect.Request[pushv1.CreateRequest]) (*connect.Response[pushv1.CreateResponse], error) {
	if n.onCreate != nil {
		n.onCreate()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.pushDown {
		return nil, connect.NewError(connect.CodeUnavailable, errors.New("services/push is not there"))
	}
	for i, old := range n.created {
		if old.GetIdempotencyKey() == req.Msg.GetIdempotencyKey() {
			return connect.NewResponse(&pushv1.CreateResponse{Change: n.change(i)}), nil
		}
	}
	n.created = append(n.created, req.Msg)
	if n.answersLost {
		return nil, connect.NewError(connect.CodeUnavailable, errors.New("the connection was reset"))
	}
	return connect.NewResponse(&pushv1.CreateResponse{Change: n.change(len(n.created) - 1)}), nil
}

func (n *neighbours) change(i int) *pushv1.ChangeSet {
	id := "change-" + string(rune('1'+i))
	return &pushv1.ChangeSet{Id: id, State: cmp.Or(n.states[id], pushv1.State_STATE_PLANNED)}
}

func (n *neighbours) Get(_ context.Context, req *connect.Request[pushv1.GetRequest]) (*connect.Response[pushv1.GetResponse], error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.pushDown {
		return nil, connect.NewError(connect.CodeUnavailable, errors.New("services/push is not there"))
	}
	for i := range n.created {
		key := n.created[i].GetIdempotencyKey()
		if c := n.change(i); c.GetId() == req.Msg.GetId() || req.Msg.GetId() == "" && key == req.Msg.GetIdempotencyKey() {
			return connect.NewResponse(&pushv1.GetResponse{Change: c}), nil
		}
	}
	return nil, connect.NewError(connect.CodeNotFound, errors.New("no such change set"))
}

// rig is one alpha service among its neighbours.
type rig struct {
	*neighbours
	bookings bookings
	c        *Component
	client   alphav1connect.AlphaServiceClient
	now      time.Time
	mu       sync.Mutex
	codes    []string
	texts    []string
}

// noon is the start of an interval of whole minutes.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// etcd is shared by the package's tests: each gets it empty.
func etcd(t *testing.T) *state.Store {
	t.Helper()
	e := state.NewEmbedded(t.TempDir(), state.UnsafeNoFsync)
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Stop(context.Background()) })
	return e.Store()
}

func newRig(t *testing.T, change func(*Configuration)) *rig {
	t.Helper()
	cfg := DefaultConfiguration()
	cfg.NightlyAt = ""
	if change != nil {
		change(&cfg)
	}
	return newRigOn(t, cfg, etcd(t))
}

func newRigOn(t *testing.T, cfg Configuration, store *state.Store) *rig {
	t.Helper()
	r := &rig{neighbours: &neighbours{}, now: noon.Add(12 * time.Hour)}
	mux := http.NewServeMux()
	mux.Handle(flowv1connect.NewFlowStoreServiceHandler(r.neighbours, rpc.Bounded(rpc.MaxRequest)))
	mux.Handle(pushv1connect.NewChangeServiceHandler(r.neighbours, rpc.Bounded(rpc.MaxRequest)))
	mux.Handle(circuitsv1connect.NewCircuitsServiceHandler(&r.bookings, rpc.Bounded(rpc.MaxRequest)))
	local := rpc.NewLocal(mux)
	b := bus.NewMemory()
	t.Cleanup(func() { b.Close(); local.Close() })
	r.listen(t, b)
	var err error
	r.c, err = New(cfg, Dependencies{
		State: store, Bus: b,
		FlowStore: flowv1connect.NewFlowStoreServiceClient(local.Client(), rpc.LocalURL),
		Changes:   pushv1connect.NewChangeServiceClient(local.Client(), rpc.LocalURL),
		Circuits:  circuitsv1connect.NewCircuitsServiceClient(local.Client(), rpc.LocalURL),
		Inventory: &device.Inventory{Devices: []device.Device{
			{Name: "wr", Loopback: netip.MustParseAddr("198.51.100.1"), Exporters: []netip.Addr{netip.MustParseAddr("192.0.2.1")}},
		}},
		Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return r.now },
	})
	if err != nil {
		t.Fatal(err)
	}
	mux.Handle(r.c.Handler())
	r.client = alphav1connect.NewAlphaServiceClient(local.Client(), rpc.LocalURL)
	return r
}

func (r *rig) listen(t *testing.T, b bus.Bus) {
	t.Helper()
	err := b.Subscribe(t.Context(), bus.TopicEvents, "test", func(_ context.Context, m bus.Message) error {
		e := &eventv1.Event{}
		if err := proto.Unmarshal(m.Value, e); err != nil {
			return err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.codes, r.texts = append(r.codes, e.GetCode()), append(r.texts, e.GetText())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// heard waits for an event with the code.
func (r *rig) heard(t *testing.T, code string) {
	t.Helper()
	await.True(t, "the event "+code+" is heard", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return slices.Contains(r.codes, code)
	})
}

// told are the texts of all events.
func (r *rig) told() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.texts)
}

// flow adds what one flow sent in the minute at start.
func (r *rig) flow(exporter, src, dst string, start time.Time, bytes uint64) {
	r.neighbours.mu.Lock()
	defer r.neighbours.mu.Unlock()
	r.sums = append(r.sums, &flowv1.IntervalsResponse{
		Exporter: exporter, SrcAddr: src, DstAddr: dst, SrcPort: 40000, DstPort: 5001, Protocol: 6, InIf: 3,
		IntervalStart: timestamppb.New(start), Bytes: bytes, Packets: bytes / 1500, Records: 1, SamplingRate: 1,
		LastRecordEnd: timestamppb.New(start.Add(50 * time.Second)),
	})
}

func (r *rig) nightly(t *testing.T, req *alphav1.NightlyRequest) *alphav1.NightlyResponse {
	t.Helper()
	out, err := r.client.Nightly(t.Context(), connect.NewRequest(req))
	if err != nil {
		t.Fatal(err)
	}
	return out.Msg
}

func (r *rig) list(t *testing.T) []*alphav1.Pair {
	t.Helper()
	out, err := r.client.List(t.Context(), connect.NewRequest(&alphav1.ListRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	return out.Msg.GetPairs()
}
