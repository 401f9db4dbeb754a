package telemetry

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/gnmiclient"
	"github.com/millrace/millrace/internal/gnmiclient/gnmitest"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/testkit/await"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
	telemetryv1 "github.com/millrace/millrace/proto/gen/millrace/telemetry/v1"
	"github.com/millrace/millrace/proto/gen/millrace/telemetry/v1/telemetryv1connect"
)

const (
	octets = "/interfaces/interface[name=ge-er]/state/counters/out-octets"
	queue  = "/qos/interfaces/interface[interface-id=ge-er]/output/queues/queue[name=te-alpha]/state/transmit-octets"
)

// stamp is the routers' time, a second behind the collector's.
var stamp = time.Now().Add(-time.Second).UnixNano()

func update(path string, v uint64) *gnmi.Update {
	return &gnmi.Update{Path: gnmiclient.MustPath(path), Val: &gnmi.TypedValue{Value: &gnmi.TypedValue_UintVal{UintVal: v}}}
}

func text(path, v string) *gnmi.Update {
	return &gnmi.Update{Path: gnmiclient.MustPath(path), Val: &gnmi.TypedValue{Value: &gnmi.TypedValue_StringVal{StringVal: v}}}
}

// sampler serves one sample and then keeps the stream open.
func sampler(updates ...*gnmi.Update) func(*gnmi.SubscriptionList, gnmi.GNMI_SubscribeServer) error {
	return func(_ *gnmi.SubscriptionList, stream gnmi.GNMI_SubscribeServer) error {
		n := &gnmi.Notification{Timestamp: stamp, Update: updates}
		if err := stream.Send(&gnmi.SubscribeResponse{Response: &gnmi.SubscribeResponse_Update{Update: n}}); err != nil {
			return err
		}
		<-stream.Context().Done()
		return nil
	}
}

type rig struct {
	client  telemetryv1connect.TelemetryCollectorServiceClient
	batches chan *telemetryv1.CounterBatch
	events  chan *eventv1.Event
}

func start(t *testing.T, certs gnmitest.Certs, devices ...device.Device) *rig {
	t.Helper()
	b := bus.NewMemory()
	r := &rig{batches: make(chan *telemetryv1.CounterBatch, 1000), events: make(chan *eventv1.Event, 1000)}
	subscribe(t, b, bus.TopicTelemetry, r.batches, func() *telemetryv1.CounterBatch { return &telemetryv1.CounterBatch{} })
	subscribe(t, b, bus.TopicEvents, r.events, func() *eventv1.Event { return &eventv1.Event{} })
	cfg := DefaultConfiguration()
	cfg.MinBackoff, cfg.MaxBackoff = time.Millisecond, 20*time.Millisecond
	c, err := New(cfg, Dependencies{
		Inventory: &device.Inventory{Devices: devices}, TLS: certs.Client, Bus: b, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle(c.Handler())
	local := rpc.NewLocal(mux)
	r.client = telemetryv1connect.NewTelemetryCollectorServiceClient(local.Client(), rpc.LocalURL)
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		b.Close()
		local.Close()
	})
	return r
}

func subscribe[M proto.Message](t *testing.T, b bus.Bus, topic string, to chan M, empty func() M) {
	t.Helper()
	err := b.Subscribe(t.Context(), topic, "test", func(_ context.Context, m bus.Message) error {
		msg := empty()
		if err := proto.Unmarshal(m.Value, msg); err != nil {
			return err
		}
		to <- msg
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func next[M any](t *testing.T, from chan M) M {
	t.Helper()
	return await.Value(t, "a message", from)
}

func (r *rig) devices(t *testing.T) []*telemetryv1.Device {
	t.Helper()
	out, err := r.client.Devices(t.Context(), connect.NewRequest(&telemetryv1.DevicesRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	return out.Msg.GetDevices()
}

func router(t *testing.T, name string, certs gnmitest.Certs) *gnmitest.Server {
	t.Helper()
	s := gnmitest.New(t, name, certs)
	s.OnSubscribe = sampler(
		update(octets, 7), update(queue, 1<<63),
		text("/qos/interfaces/interface[interface-id=ge-er]/output/queues/queue[name=te-alpha]/state/name", "te-alpha"),
		update("/network-instances/network-instance[name=DEFAULT]/policy-forwarding/policies/policy[policy-id=te]/rules/rule[sequence-id=10]/state/sequence-id", 10),
		text(octets, "not a number"),
	)
	return s
}

func TestCountersReachTheBus(t *testing.T) {
	certs := gnmitest.NewCerts(t)
	s := router(t, "wr", certs)
	s.Start(t)
	r := start(t, certs, s.Device)
	at := timestamppb.New(time.Unix(0, stamp))
	want := &telemetryv1.CounterBatch{Device: "wr", Counters: []*telemetryv1.Counter{
		{Path: octets, Value: 7, Time: at}, {Path: queue, Value: 1 << 63, Time: at},
	}}
	got := next(t, r.batches)
	if diff := cmp.Diff(got, want, protocmp.Transform(), protocmp.IgnoreFields(want, "batch_id")); diff != "" || got.GetBatchId() == "" {
		t.Errorf("batch %q (-got +want):\n%s", got.GetBatchId(), diff)
	}
	if e := next(t, r.events); e.GetCode() != "telemetry-up" || e.GetSubject() != "wr" {
		t.Errorf("event %v", e)
	}
	if d := r.devices(t)[0]; !d.GetConnected() || d.GetError() != "" || d.GetLastUpdate() == nil {
		t.Errorf("device %v, want it connected", d)
	}
}

func TestADeadRouterIsTriedAgainAndOthersGoOn(t *testing.T) {
	certs := gnmitest.NewCerts(t)
	alive, dying := router(t, "er", certs), router(t, "wr", certs)
	alive.Start(t)
	dying.Start(t)
	r := start(t, certs, dying.Device, alive.Device)
	up := map[string]bool{next(t, r.events).GetSubject(): true, next(t, r.events).GetSubject(): true}
	if !up["wr"] || !up["er"] {
		t.Fatalf("up: %v", up)
	}
	dying.Stop()
	if e := next(t, r.events); e.GetCode() != "telemetry-down" || e.GetSubject() != "wr" {
		t.Fatalf("event %v, want that wr is down", e)
	}
	list := r.devices(t)
	if list[0].GetConnected() || list[0].GetError() == "" || !list[1].GetConnected() {
		t.Errorf("devices %v, want wr down with a reason and er up", list)
	}
	dying.Start(t)
	// However many attempts failed meanwhile, the next news is that it is back.
	if e := next(t, r.events); e.GetCode() != "telemetry-up" || e.GetSubject() != "wr" {
		t.Errorf("event %v, want that wr is up", e)
	}
}

func TestARouterWithoutQueuesIsAskedForLess(t *testing.T) {
	certs := gnmitest.NewCerts(t)
	s := router(t, "wr", certs)
	answer := sampler(update(octets, 7))
	s.OnSubscribe = func(list *gnmi.SubscriptionList, stream gnmi.GNMI_SubscribeServer) error {
		if len(list.GetSubscription()) > 1 {
			return status.Error(codes.Unimplemented, "no such path here")
		}
		return answer(list, stream)
	}
	s.Start(t)
	r := start(t, certs, s.Device)
	if got := next(t, r.batches); len(got.GetCounters()) != 1 {
		t.Errorf("counters %v", got.GetCounters())
	}
}

// A stream that ran for days may end with NOT_FOUND when a port is taken out; the next one is asked for as much. One
// that ends so before its sync_response has a path that the router does not know, though it sent some of the others.
func TestAStreamThatRanRefusedNothing(t *testing.T) {
	for name, c := range map[string]struct {
		synced bool
		second int // paths
	}{"it ran": {true, len(paths)}, "it did not": {false, len(paths) - 1}} {
		t.Run(name, func(t *testing.T) {
			certs := gnmitest.NewCerts(t)
			s := router(t, "wr", certs)
			asked := make(chan int, 100)
			answer := s.OnSubscribe
			var ended atomic.Bool
			s.OnSubscribe = func(list *gnmi.SubscriptionList, stream gnmi.GNMI_SubscribeServer) error {
				asked <- len(list.GetSubscription())
				if ended.Swap(true) {
					return answer(list, stream)
				}
				n := &gnmi.Notification{Timestamp: stamp, Update: []*gnmi.Update{update(octets, 5)}}
				if err := stream.Send(&gnmi.SubscribeResponse{Response: &gnmi.SubscribeResponse_Update{Update: n}}); err != nil {
					return err
				}
				if c.synced {
					if err := stream.Send(&gnmi.SubscribeResponse{Response: &gnmi.SubscribeResponse_SyncResponse{SyncResponse: true}}); err != nil {
						return err
					}
				}
				return status.Error(codes.NotFound, "interface ge-er was removed")
			}
			s.Start(t)
			start(t, certs, s.Device)
			if first, second := next(t, asked), next(t, asked); first != len(paths) || second != c.second {
				t.Errorf("subscribed to %d paths, then to %d; want %d and %d", first, second, len(paths), c.second)
			}
		})
	}
}

// The pause between two attempts grows until counters come: a stream that has none and ends is not asked for again at
// once, for ever.
func TestOnlyCountersEndTheGrowthOfThePause(t *testing.T) {
	for name, tt := range map[string]struct {
		update *gnmi.Update
		want   bool
	}{
		"a name":    {text("/qos/interfaces/interface[interface-id=ge-er]/output/queues/queue[name=te-alpha]/state/name", "te-alpha"), false},
		"a counter": {update(octets, 1), true},
	} {
		t.Run(name, func(t *testing.T) {
			certs := gnmitest.NewCerts(t)
			s := router(t, "wr", certs)
			s.OnSubscribe = func(_ *gnmi.SubscriptionList, stream gnmi.GNMI_SubscribeServer) error {
				n := &gnmi.Notification{Timestamp: stamp, Update: []*gnmi.Update{tt.update}}
				return stream.Send(&gnmi.SubscribeResponse{Response: &gnmi.SubscribeResponse_Update{Update: n}})
			}
			s.Start(t)
			b := bus.NewMemory()
			defer b.Close()
			c, err := New(DefaultConfiguration(), Dependencies{
				Inventory: &device.Inventory{Devices: []device.Device{s.Device}}, TLS: certs.Client, Bus: b, Log: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			arrived := false
			if err := c.watchers[0].connect(t.Context(), func() { arrived = true }); err == nil || arrived != tt.want {
				t.Errorf("%v; the pause begins anew: %v, want %v", err, arrived, tt.want)
			}
		})
	}
}

func TestUntrustedRoutersStayDown(t *testing.T) {
	s := router(t, "wr", gnmitest.NewCerts(t))
	s.Start(t)
	r := start(t, gnmitest.NewCerts(t), s.Device)
	if e := next(t, r.events); e.GetCode() != "telemetry-down" || !strings.Contains(e.GetText(), "certificate") {
		t.Errorf("event %v, want one that speaks of the certificate", e)
	}
}

func TestPrefixesOfNotificationsArePartOfThePath(t *testing.T) {
	n := &gnmi.Notification{
		Prefix: gnmiclient.MustPath("/interfaces/interface[name=ge-er]"),
		Update: []*gnmi.Update{update("/state/counters/out-octets", 3)},
	}
	d := decode(n, time.Unix(5, 0))
	if d.unreadable != 0 || d.counters[0].GetPath() != octets || d.counters[0].GetTime().GetSeconds() != 5 {
		t.Errorf("decoded %+v", d)
	}
}

// A router's clock decides neither which day a counter is stored under nor whether it is deleted at once.
func TestTimesThatCannotBeAreThoseOfArrival(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name  string
		at    time.Time
		wrong bool
	}{
		{"now", now, false},
		{"a clock that is a little ahead", now.Add(maxAhead), false},
		{"counters that waited for the bus", now.Add(-maxBehind), false},
		{"the year 2100", time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC), true},
		{"the year 1990", time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC), true},
		{"no time", time.Unix(0, 0), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := decode(&gnmi.Notification{Timestamp: c.at.UnixNano(), Update: []*gnmi.Update{update(octets, 3)}}, now)
			want := c.at
			if c.wrong || c.at.Unix() == 0 {
				want = now
			}
			if got := d.counters[0].GetTime().AsTime(); !got.Equal(want) || d.wrongTime != c.wrong {
				t.Errorf("stored under %s, wrong %v; want %s, %v", got, d.wrongTime, want, c.wrong)
			}
		})
	}
}
