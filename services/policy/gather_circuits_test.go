package policy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/rpc"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/proto/gen/millrace/circuits/v1/circuitsv1connect"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	"github.com/millrace/millrace/proto/gen/millrace/policy/v1/policyv1connect"
)

// booked is a book of circuits that gives one of them to a page.
type booked struct {
	circuitsv1connect.UnimplementedCircuitsServiceHandler
	list []*circuitsv1.Circuit
	away bool
}

func (b *booked) List(_ context.Context, r *connect.Request[circuitsv1.ListRequest]) (*connect.Response[circuitsv1.ListResponse], error) {
	if b.away {
		return nil, connect.NewError(connect.CodeUnavailable, errors.New("the book of circuits is not read yet"))
	}
	at, _ := strconv.Atoi(r.Msg.GetPageToken())
	out := &circuitsv1.ListResponse{}
	for at < len(b.list) {
		at++
		if m := b.list[at-1]; slices.Contains(r.Msg.GetStates(), m.GetState()) {
			out.Circuits, out.NextPageToken = append(out.Circuits, m), strconv.Itoa(at)
			break
		}
	}
	return connect.NewResponse(out), nil
}

// tenOClock is when the plans below are made.
var tenOClock = time.Date(2026, 11, 23, 22, 0, 0, 0, time.UTC)

// overCR is a circuit of an hour from wr over cr to er, as services/circuits lists it.
func overCR(id string) *circuitsv1.Circuit {
	return &circuitsv1.Circuit{
		Id: id, State: circuitsv1.State_STATE_PROVISIONING,
		Terms: &circuitsv1.Terms{Pairs: []*circuitsv1.PrefixPair{{Source: "192.0.2.0/27", Destination: "198.51.100.0/27"}}},
		Slots: []*circuitsv1.Slot{{Start: timestamppb.New(tenOClock), End: timestamppb.New(tenOClock.Add(time.Hour)), RateBitsPerSecond: 50e6}},
		Path:  []*circuitsv1.Hop{{Link: "10.255.0.1|10.0.13.1"}, {Link: "10.255.0.3|10.0.23.1"}},
	}
}

func startWithCircuits(t *testing.T, b *booked) (policyv1connect.PolicyServiceClient, *Component) {
	t.Helper()
	client, c := startWith(t, DefaultConfiguration())
	mux := http.NewServeMux()
	mux.Handle(circuitsv1connect.NewCircuitsServiceHandler(b, rpc.Bounded(rpc.MaxRequest)))
	local := rpc.NewLocal(mux)
	t.Cleanup(func() { local.Close() })
	c.deps.Circuits = circuitsv1connect.NewCircuitsServiceClient(local.Client(), rpc.LocalURL)
	c.now = func() time.Time { return tenOClock }
	return client, c
}

func planned(t *testing.T, client policyv1connect.PolicyServiceClient) *policyv1.PlanResponse {
	t.Helper()
	r, err := client.Plan(t.Context(), connect.NewRequest(&policyv1.PlanRequest{Policy: "circuits-two-queue"}))
	if err != nil {
		t.Fatal(err)
	}
	return r.Msg
}

func TestCircuitsInForceArePlannedAlongTheirBookedPaths(t *testing.T) {
	other, held, over := overCR("other"), overCR("held"), overCR("over")
	other.Terms.Pairs[0].Source, other.State = "192.0.2.32/27", circuitsv1.State_STATE_ACTIVE
	other.Slots[0].RateBitsPerSecond = 30e6
	held.State = circuitsv1.State_STATE_HELD
	over.Slots[0].End = timestamppb.New(tenOClock)
	client, _ := startWithCircuits(t, &booked{list: []*circuitsv1.Circuit{held, overCR("one"), over, other}})
	got := planned(t, client)
	if d := cmp.Diff(got.GetCircuits(), []string{"one", "other"}); d != "" || len(got.GetRefusedCircuits()) > 0 {
		t.Errorf("refused %v, circuits (-got +want):\n%s", got.GetRefusedCircuits(), d)
	}
	rules := map[string]string{}
	for _, plan := range got.GetPlans() {
		for _, l := range plan.GetLsps() {
			rules[plan.GetRouter()] += strings.Join(l.GetHops(), ",") + " "
		}
		for _, r := range plan.GetRules() {
			rules[plan.GetRouter()] += r.GetCircuit() + " "
		}
	}
	hops := "10.255.0.3,10.255.0.2 "
	for router, text := range rules {
		parts := strings.Fields(text)
		slices.Sort(parts)
		rules[router] = strings.Join(parts, " ")
	}
	want := map[string]string{"wr": hops + hops + "one other", "cr": "one other", "er": "one other"}
	if d := cmp.Diff(rules, want); d != "" {
		t.Errorf("LSPs and rules (-got +want):\n%s", d)
	}
	r, err := client.Circuits(t.Context(), connect.NewRequest(&policyv1.CircuitsRequest{}))
	if d := cmp.Diff(r.Msg.GetCircuits(), []string{"one", "other"}); err != nil || d != "" {
		t.Errorf("error %v, in force (-got +want):\n%s", err, d)
	}
}

// Two circuits between the same prefixes have different flows of them.
func TestCircuitsForSomeFlowsArePlanned(t *testing.T) {
	tcp, udp := overCR("tcp"), overCR("udp")
	tcp.Terms.Pairs[0].Protocol, tcp.Terms.Pairs[0].DestinationPorts = "tcp", "5000-5100"
	udp.Terms.Pairs[0].Protocol, udp.Terms.Pairs[0].SourcePorts = "udp", "7"
	tcp.Slots[0].RateBitsPerSecond, udp.Slots[0].RateBitsPerSecond = 30e6, 30e6
	client, _ := startWithCircuits(t, &booked{list: []*circuitsv1.Circuit{tcp, udp}})
	got := planned(t, client)
	if len(got.GetRefusedCircuits()) > 0 {
		t.Errorf("refused %v", got.GetRefusedCircuits())
	}
	rules := map[string][]string{}
	for _, plan := range got.GetPlans() {
		for _, r := range plan.GetRules() {
			rules[plan.GetRouter()] = append(rules[plan.GetRouter()], fmt.Sprintf("%s %d %s>%s", r.GetCircuit(), r.GetProtocol(), r.GetSourcePorts(), r.GetDestinationPorts()))
		}
		slices.Sort(rules[plan.GetRouter()])
	}
	each := []string{"tcp 6 >5000-5100", "udp 17 7>"}
	if d := cmp.Diff(rules, map[string][]string{"wr": each, "cr": each, "er": each}); d != "" {
		t.Errorf("rules (-got +want):\n%s", d)
	}
}

// A plan without the circuits that nobody could read would take them off routers.
func TestNothingIsPlannedWhileTheCircuitsAreNotKnown(t *testing.T) {
	client, _ := startWithCircuits(t, &booked{away: true})
	want := "unavailable: nothing is planned, for nobody knows which circuits are in force, and a plan without them would take them off routers: unavailable: the book of circuits is not read yet"
	for _, name := range []string{"circuits-two-queue", "hntes-two-queue"} {
		_, err := client.Plan(t.Context(), connect.NewRequest(&policyv1.PlanRequest{Policy: name}))
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
	if _, err := client.Circuits(t.Context(), connect.NewRequest(&policyv1.CircuitsRequest{})); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("got %v, want UNAVAILABLE", err)
	}
}

func TestWithoutTheServiceNoCircuitIsInForce(t *testing.T) {
	client, c := startWithCircuits(t, &booked{away: true})
	c.deps.Circuits = nil
	if got := planned(t, client); len(got.GetCircuits())+len(got.GetRefusedCircuits()) > 0 || len(got.GetPlans()) == 0 {
		t.Errorf("%d plans, circuits %v and %v", len(got.GetPlans()), got.GetCircuits(), got.GetRefusedCircuits())
	}
}

func TestACircuitWithoutSegmentsIsRefusedAlone(t *testing.T) {
	for why, change := range map[string]func(*circuitsv1.Circuit){
		"no path: link gone of the path is no longer in the topology":             func(m *circuitsv1.Circuit) { m.Path[1].Link = "gone" },
		"its path cannot be read: invalid_argument: the links are no path":        func(m *circuitsv1.Circuit) { m.Path = nil },
		"its traffic from \"nowhere\" to \"198.51.100.0/27\" cannot be matched: ": func(m *circuitsv1.Circuit) { m.Terms.Pairs[0].Source = "nowhere" },
	} {
		odd := overCR("odd")
		change(odd)
		client, _ := startWithCircuits(t, &booked{list: []*circuitsv1.Circuit{odd, overCR("one")}})
		got := planned(t, client)
		if len(got.GetRefusedCircuits()) != 1 || !strings.Contains(got.GetRefusedCircuits()[0].GetReason(), why) || !slices.Equal(got.GetCircuits(), []string{"one"}) {
			t.Errorf("refused %v, mapped %v; want odd, because %s", got.GetRefusedCircuits(), got.GetCircuits(), why)
		}
	}
}

// Of a volume in several slots, what is booked now counts; what is over does not.
func TestTheRateOfAVolumeIsThatOfItsSlot(t *testing.T) {
	at := func(minutes int) *timestamppb.Timestamp {
		return timestamppb.New(tenOClock.Add(time.Duration(minutes) * time.Minute))
	}
	m := &circuitsv1.Circuit{Slots: []*circuitsv1.Slot{{Start: at(0), End: at(10), RateBitsPerSecond: 1}, {Start: at(20), RateBitsPerSecond: 2}}}
	for minute, want := range map[int]uint64{-1: 0, 0: 1, 9: 1, 10: 0, 19: 0, 20: 2, 1000: 2} {
		if got := rateAt(m, at(minute).AsTime()); uint64(got) != want {
			t.Errorf("minute %d: rate %d, want %d", minute, got, want)
		}
	}
	if !endOf(m).IsZero() {
		t.Errorf("it ends at %s, want never", endOf(m))
	}
	m.Slots = append(m.Slots[:1], &circuitsv1.Slot{Start: at(20), End: at(30), RateBitsPerSecond: 3}, &circuitsv1.Slot{Start: at(40), RateBitsPerSecond: 2})
	for minute, want := range map[int]uint64{-1: 3, 9: 3, 15: 3, 29: 3, 30: 2, 1000: 2} {
		if got := highestRate(m, at(minute).AsTime()); uint64(got) != want {
			t.Errorf("minute %d: the highest rate from then on is %d, want %d", minute, got, want)
		}
	}
}
