package twin

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/rpc"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	twinv1 "github.com/millrace/millrace/proto/gen/millrace/twin/v1"
	"github.com/millrace/millrace/proto/gen/millrace/twin/v1/twinv1connect"
	"github.com/millrace/millrace/services/twin/predict"
)

// client serves a twin in memory; change edits its configuration.
func client(t *testing.T, flows flowv1connect.FlowStoreServiceHandler, change func(*Configuration)) twinv1connect.TwinServiceClient {
	t.Helper()
	cfg := DefaultConfiguration()
	if change != nil {
		change(&cfg)
	}
	mux := http.NewServeMux()
	local := rpc.NewLocal(mux)
	t.Cleanup(func() { _ = local.Close() })
	deps := Dependencies{}
	if flows != nil {
		mux.Handle(flowv1connect.NewFlowStoreServiceHandler(flows, rpc.Bounded(rpc.MaxRequest)))
		deps.Flows = flowv1connect.NewFlowStoreServiceClient(local.Client(), rpc.LocalURL)
	}
	c, err := New(cfg, deps)
	if err != nil {
		t.Fatal(err)
	}
	mux.Handle(c.Handler())
	return twinv1connect.NewTwinServiceClient(local.Client(), rpc.LocalURL)
}

func ask(t *testing.T, c twinv1connect.TwinServiceClient, req *twinv1.PredictRequest) *twinv1.PredictResponse {
	t.Helper()
	r, err := c.Predict(t.Context(), connect.NewRequest(req))
	if err != nil {
		t.Fatal(err)
	}
	return r.Msg
}

func plan() *policyv1.RouterPlan {
	return &policyv1.RouterPlan{
		Router: "WR", BufferTime: uint64(50 * time.Millisecond),
		Queues: []*policyv1.Queue{
			{Name: "alpha", Id: 1, Weight: 75, Buffer: 50, Priority: 2},
			{Name: "beta", Weight: 25, Buffer: 50, Priority: 2, Default: true},
		},
		Ports: []*policyv1.PortScheduling{{Interface: "ge-0", Speed: 100e6}},
	}
}

func plans(loads ...*twinv1.Load) *twinv1.PredictRequest {
	return &twinv1.PredictRequest{Seed: 1, Subject: &twinv1.PredictRequest_Plans{Plans: &twinv1.Plans{Plans: []*policyv1.RouterPlan{plan()}, Loads: loads}}}
}

// edited is a request whose plan is changed, under a load that fits.
func edited(change func(*policyv1.RouterPlan)) *twinv1.PredictRequest {
	r := plans(&twinv1.Load{Router: "WR", Interface: "ge-0", Queue: "beta", Rate: 100})
	change(r.GetPlans().GetPlans()[0])
	return r
}

func class(t *testing.T, r *twinv1.PredictResponse, queue string) *twinv1.ClassEffect {
	t.Helper()
	i := slices.IndexFunc(r.GetClasses(), func(e *twinv1.ClassEffect) bool { return e.GetQueue() == queue })
	if i < 0 {
		t.Fatalf("no effect on %s in %v", queue, r)
	}
	return r.GetClasses()[i]
}

func TestPlansUnderTheLoadThatIsStated(t *testing.T) {
	c := client(t, nil, nil)
	request := plans(&twinv1.Load{Router: "WR", Interface: "ge-0", Queue: "alpha", Rate: 100e6}, &twinv1.Load{Router: "WR", Interface: "ge-0", Queue: "beta", Rate: 100e6})
	r := ask(t, c, request)
	alpha, beta := class(t, r, "alpha"), class(t, r, "beta")
	if ratio := float64(alpha.GetCarried()) / float64(beta.GetCarried()); ratio < 2.9 || ratio > 3.1 {
		t.Errorf("alpha carries %.2f times what beta carries, want 3, as weighted", ratio)
	}
	if again := ask(t, c, request); again.String() != r.String() {
		t.Error("the same request and seed gave another answer")
	}
	if !slices.Contains(r.GetAssumptions(), openLoop) {
		t.Errorf("it does not say that senders do not slow down: %v", r.GetAssumptions())
	}
}

// counterStore answers as services/flowstore does, of one router.
type counterStore struct {
	flowv1connect.UnimplementedFlowStoreServiceHandler
	series []*flowv1.TelemetrySeries
	err    error
}

func (c counterStore) Telemetry(_ context.Context, r *connect.Request[flowv1.TelemetryRequest]) (*connect.Response[flowv1.TelemetryResponse], error) {
	out := &flowv1.TelemetryResponse{}
	for _, s := range c.series {
		if s.GetDevice() == r.Msg.GetDevice() && strings.HasPrefix(s.GetPath(), r.Msg.GetPathPrefix()) {
			out.Series = append(out.Series, s)
		}
	}
	return connect.NewResponse(out), c.err
}

const (
	portPath  = "/interfaces/interface[name=ge-0]/state/counters/out-octets"
	queuePath = "/qos/interfaces/interface[interface-id=ge-0]/output/queues/queue[name=te-alpha]/state/"
)

// series counts octets at ten-second intervals.
func series(path string, values ...uint64) *flowv1.TelemetrySeries {
	s := &flowv1.TelemetrySeries{Device: "WR", Path: path}
	for i, v := range values {
		s.Points = append(s.Points, &flowv1.TelemetryPoint{Time: timestamppb.New(time.Unix(int64(10*i), 0)), Value: v})
	}
	return s
}

func TestPlansUnderTheLoadThatRoutersCounted(t *testing.T) {
	flows := counterStore{series: []*flowv1.TelemetrySeries{series(portPath, 0, 50e6, 100e6), series(queuePath+"transmit-octets", 0, 25e6, 75e6),
		series(queuePath+"transmit-pkts", 0, 20e3, 60e3), series(queuePath+"dropped-pkts", 0, 0, 30e3)}}
	r := ask(t, client(t, flows, nil), plans())
	// The queue sent 30 Mbit/s and dropped one packet of three; the port sent 40. Both count the Ethernet header.
	ip := predict.IPShare
	if got, want := class(t, r, "alpha").GetOffered(), uint64(45e6*ip); got != want {
		t.Errorf("alpha offers %d bit/s, want the %d that its queue sent and dropped", got, want)
	}
	if got, want := class(t, r, "beta").GetOffered(), uint64(10e6*ip); got != want {
		t.Errorf("beta offers %d bit/s, want the %d that the port sent beside alpha", got, want)
	}
}

func TestAPortWithoutCountersIsLeftOutAndReported(t *testing.T) {
	for name, flows := range map[string]counterStore{"nothing counted": {}, "not answered": {err: errors.New("the store is away")}} {
		r := ask(t, client(t, flows, nil), plans())
		if len(r.GetClasses()) > 0 || !strings.Contains(strings.Join(r.GetAssumptions(), "\n"), "ge-0 is left out") {
			t.Errorf("%s: %v", name, r)
		}
		if name == "not answered" && !strings.Contains(strings.Join(r.GetAssumptions(), "\n"), "the store is away") {
			t.Errorf("it does not say why: %v", r.GetAssumptions())
		}
	}
}

func TestAShippedScenario(t *testing.T) {
	r := ask(t, client(t, nil, nil), &twinv1.PredictRequest{Seed: 1, Subject: &twinv1.PredictRequest_Scenario{Scenario: &twinv1.Scenario{Name: "geant-lbe-whatif"}}})
	if len(r.GetMetrics()) == 0 || len(r.GetVerdicts()) == 0 || r.GetPacketHops() == 0 {
		t.Errorf("%v", r)
	}
}

func TestWhatCannotBeSimulatedIsRefusedWithItsReason(t *testing.T) {
	named := func(name, text string) *twinv1.PredictRequest {
		return &twinv1.PredictRequest{Subject: &twinv1.PredictRequest_Scenario{Scenario: &twinv1.Scenario{Name: name, Text: text}}}
	}
	marking := plans(&twinv1.Load{Router: "WR", Interface: "ge-0", Queue: "beta", Rate: 1})
	marking.GetPlans().GetPlans()[0].GetQueues()[0].DropProfiles = []*policyv1.DropProfile{{Min: 10, Max: 20, Probability: 50, Ecn: true}}
	for _, tc := range []struct {
		name    string
		request *twinv1.PredictRequest
		want    string
	}{
		{"nothing", &twinv1.PredictRequest{}, "a scenario or plans"},
		{"no plan", &twinv1.PredictRequest{Subject: &twinv1.PredictRequest_Plans{Plans: &twinv1.Plans{}}}, "no plan"},
		{"a file of the server", named("/etc/passwd", ""), "no scenario"},
		{"a path", named("../hntes-exp2", ""), "no scenario"},
		{"name and text", named("hntes-exp2", "name: x"), "name or its text"},
		{"text that is no scenario", named("", "routers: 7"), "scenario:1"},
		{"programs of the lab", named("i2vfc-single", ""), "runs programs"},
		{"ECN", marking, "ECN"},
		{"a router that no plan has", plans(&twinv1.Load{Router: "XX", Interface: "ge-0", Queue: "beta", Rate: 1}), "no plan has router"},
		{"a load beyond reason", plans(&twinv1.Load{Router: "WR", Interface: "ge-0", Queue: "beta", Rate: 1e15}), "more than 100 times"},
		{"a weight over 100", edited(func(p *policyv1.RouterPlan) { p.Queues[0].Weight = 331 }), "weight in percent is 331"},
		{"a buffer of centuries", edited(func(p *policyv1.RouterPlan) { p.BufferTime = 1 << 63 }), "buffer in ns"},
		{"a port of 500 bit/s", edited(func(p *policyv1.RouterPlan) { p.Ports[0].Speed = 500 }), "500 bit/s"},
		{"a plan without a router", edited(func(p *policyv1.RouterPlan) { p.Router = "" }), "no router"},
		{"a scenario of a megabyte", named("", strings.Repeat("#", 1<<20)), "bytes, over"},
		{"brackets without end", named("", "name: "+strings.Repeat("[", 10000)), "nested"},
		{"more pairs than addresses", named("", "pairs: [{name: a, from: H, to: K, count: 50000}, {name: b, from: H, to: K, count: 50000}]"), "100000 pairs"},
		{"an unknown queue", plans(&twinv1.Load{Router: "WR", Interface: "ge-0", Queue: "gamma", Rate: 1}), `no queue "gamma"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := client(t, nil, nil).Predict(t.Context(), connect.NewRequest(tc.request))
			if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want INVALID_ARGUMENT with %q", err, tc.want)
			}
		})
	}
}

// A port whose own counter is missing is reported: its default queue would read as empty.
func TestAMissingPortCounterIsSaid(t *testing.T) {
	flows := counterStore{series: []*flowv1.TelemetrySeries{series(queuePath+"transmit-octets", 0, 25e6, 50e6)}}
	r := ask(t, client(t, flows, nil), plans())
	if !strings.Contains(strings.Join(r.GetAssumptions(), "\n"), "its own counter is not known") {
		t.Errorf("%v", r.GetAssumptions())
	}
}

// For a class with few packets no figures are reported, rather than wrong ones.
func TestAClassWithFewPacketsIsLeftOut(t *testing.T) {
	r := ask(t, client(t, nil, nil), plans(&twinv1.Load{Router: "WR", Interface: "ge-0", Queue: "alpha", Rate: 90e6}, &twinv1.Load{Router: "WR", Interface: "ge-0", Queue: "beta", Rate: 10}))
	if len(r.GetClasses()) != 1 || !strings.Contains(strings.Join(r.GetAssumptions(), "\n"), "queue beta is left out") {
		t.Errorf("%v", r)
	}
}

// A class that sends a packet in hours, alone or beside others, is left out; it takes nothing away from the others.
func TestAPortThatIsNearlyIdle(t *testing.T) {
	load := func(queue string, rate uint64) *twinv1.Load {
		return &twinv1.Load{Router: "WR", Interface: "ge-0", Queue: queue, Rate: rate}
	}
	for _, tc := range []struct {
		loads   []*twinv1.Load
		classes []string
	}{
		{[]*twinv1.Load{load("alpha", 1), load("beta", 100)}, []string{"beta"}},
		{[]*twinv1.Load{load("alpha", 1), load("beta", 1)}, nil},
		{[]*twinv1.Load{load("beta", 1)}, nil},
	} {
		r := ask(t, client(t, nil, nil), plans(tc.loads...))
		var got []string
		for _, e := range r.GetClasses() {
			got = append(got, e.GetQueue())
		}
		if !slices.Equal(got, tc.classes) || !strings.Contains(strings.Join(r.GetAssumptions(), "\n"), "is left out: it sends too few packets") {
			t.Errorf("%v: %v", tc.loads, r)
		}
	}
}

// What routers counted is never a reason to predict nothing: the port is left out, and the others are not.
func TestOnePortsCountersTakeNoOtherPortAway(t *testing.T) {
	other := strings.NewReplacer("ge-0", "ge-1")
	for name, odd := range map[string][]*flowv1.TelemetrySeries{
		"idle":                {series(other.Replace(portPath), 0, 0, 1)},
		"an octet":            {series(other.Replace(queuePath)+"transmit-octets", 0, 0, 1), series(other.Replace(portPath), 0, 0, 2)},
		"drops beyond reason": {series(other.Replace(portPath), 0, 1e6, 2e6), series(other.Replace(queuePath)+"transmit-octets", 0, 1e6, 2e6), series(other.Replace(queuePath)+"transmit-pkts", 0, 1, 2), series(other.Replace(queuePath)+"dropped-pkts", 0, 1e5, 2e5)},
	} {
		t.Run(name, func(t *testing.T) {
			flows := counterStore{series: append(odd, series(portPath, 0, 50e6, 100e6))}
			request := plans()
			request.GetPlans().GetPlans()[0].Ports = []*policyv1.PortScheduling{{Interface: "ge-1", Speed: 10e6}, {Interface: "ge-0", Speed: 100e6}}
			r := ask(t, client(t, flows, nil), request)
			if e := class(t, r, "beta"); e.GetInterface() != "ge-0" {
				t.Errorf("%v", e)
			}
			if !strings.Contains(strings.Join(r.GetAssumptions(), "\n"), "router WR, port ge-1 ") {
				t.Errorf("it does not say that ge-1 is left out: %v", r.GetAssumptions())
			}
		})
	}
}

func TestPolicersAreNotForgotten(t *testing.T) {
	request := plans(&twinv1.Load{Router: "WR", Interface: "ge-0", Queue: "beta", Rate: 1e6})
	request.GetPlans().GetPlans()[0].Policers = []*policyv1.Policer{{Name: "limit", Queue: "beta", Rate: 1e5}}
	if r := ask(t, client(t, nil, nil), request); !strings.Contains(strings.Join(r.GetAssumptions(), "\n"), "1 policers are not simulated") {
		t.Errorf("%v", r.GetAssumptions())
	}
}

// A request ends in time however much traffic it describes, and frees the slot for the next.
func TestATooLargePredictionEndsAndFreesItsSlot(t *testing.T) {
	cfg := DefaultConfiguration()
	cfg.Timeout = 200 * time.Millisecond
	c, err := New(cfg, Dependencies{})
	if err != nil {
		t.Fatal(err)
	}
	heavy := `name: heavy
routers: [{name: A}, {name: B}]
hosts: [{name: H, address: 10.1.1.2/24, gateway: 10.1.1.1}, {name: K, address: 10.2.1.2/24, gateway: 10.2.1.1}]
links:
  - {a: "A:b", b: "B:a", rate: 1Gbit/s}
  - {a: "H:eth0", b: "A:h", rate: 1Gbit/s}
  - {a: "K:eth0", b: "B:k", rate: 1Gbit/s}
phases: [{name: p, applications: [{name: u, kind: udp, from: H, to: K, port: 9, rate: 1000000Gbit/s, stop: 1h}]}]
`
	request := &twinv1.PredictRequest{Subject: &twinv1.PredictRequest_Scenario{Scenario: &twinv1.Scenario{Text: heavy}}}
	if _, err := (&api{c}).Predict(t.Context(), connect.NewRequest(request)); connect.CodeOf(err) != connect.CodeDeadlineExceeded {
		t.Errorf("got %v, want DEADLINE_EXCEEDED", err)
	}
	if len(c.turns) != 0 {
		t.Error("the prediction ended and keeps its slot")
	}
}

func TestAPredictionWithoutASlotIsRefused(t *testing.T) {
	c, err := New(Configuration{Timeout: time.Second, Parallel: 1, Window: time.Minute}, Dependencies{})
	if err != nil {
		t.Fatal(err)
	}
	c.turns <- struct{}{}
	over, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	if _, err := c.inTurn(over, nil, nil); !errors.Is(err, errBusy) {
		t.Errorf("got %v", err)
	}
	left, leave := context.WithCancel(t.Context())
	leave()
	if _, err := c.inTurn(left, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that left got %v", err)
	}
}

func TestAConfigurationThatCannotWorkIsRefused(t *testing.T) {
	for _, change := range []func(*Configuration){
		func(c *Configuration) { c.Timeout = 0 }, func(c *Configuration) { c.Parallel = 0 }, func(c *Configuration) { c.Window = -1 },
	} {
		cfg := DefaultConfiguration()
		change(&cfg)
		if _, err := New(cfg, Dependencies{}); err == nil {
			t.Errorf("%+v was taken", cfg)
		}
	}
}
