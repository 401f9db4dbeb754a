package circuits

import (
	"context"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
)

// counted is a flow store that has something of some circuits only.
type counted struct {
	flowv1connect.FlowStoreServiceClient
	of map[string]*flowv1.CircuitUsage
}

func (f counted) CircuitUsage(_ context.Context, r *connect.Request[flowv1.CircuitUsageRequest]) (*connect.Response[flowv1.CircuitUsageResponse], error) {
	out := &flowv1.CircuitUsageResponse{StepSeconds: 60}
	for _, id := range r.Msg.GetCircuits() {
		u := &flowv1.CircuitUsage{}
		if has := f.of[id]; has != nil {
			u = proto.CloneOf(has)
		}
		u.Circuit = id
		out.Circuits = append(out.Circuits, u)
	}
	return connect.NewResponse(out), nil
}

// activeAt makes a circuit active some hours after noon, as routers would.
func (w *world) activeAt(c *Component, id string, hours float64) {
	w.t.Helper()
	_, err := c.ledger.Change(w.t.Context(), id, func(r *circuitsv1.Record) (*circuitsv1.Record, error) {
		r = proto.CloneOf(r)
		r.Circuit.State = circuitsv1.State_STATE_ACTIVE
		r.Circuit.History = append(r.GetCircuit().GetHistory(), &circuitsv1.Transition{State: circuitsv1.State_STATE_ACTIVE, Time: atHour(hours)})
		return r, nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestTheUsageOfACircuitBetweenPorts(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	frames, half, pairs := w.booked(c, "frames", w.frames("a", "b", 1, "100", "300")), w.booked(c, "half", w.frames("b", "a", 1, "200", "400")), w.booked(c, "pairs", w.terms("b", "c", 2))
	for _, circuit := range []*circuitsv1.Circuit{frames, half, pairs} {
		w.activeAt(c, circuit.GetId(), 10)
	}
	w.set(noon.Add(13 * time.Hour))
	sent := &flowv1.CircuitUsage{Counted: true, ReturnCounted: true, Points: []*flowv1.UsagePoint{
		{Time: atHour(10), InProfileOctets: 1000, InProfilePackets: 10, ReturnOctets: 70, ReturnPackets: 1},
		{Time: atHour(11), ReturnOctets: 30, ReturnPackets: 2},
	}}
	c.deps.Flows = counted{of: map[string]*flowv1.CircuitUsage{
		frames.GetId(): sent, half.GetId(): {Counted: true, Points: []*flowv1.UsagePoint{{Time: atHour(10), InProfileOctets: 5, InProfilePackets: 1}}},
	}}
	usage := func(id string, from, to float64) *circuitsv1.UsageResponse {
		t.Helper()
		r, err := (&api{c}).Usage(t.Context(), connect.NewRequest(&circuitsv1.UsageRequest{Id: id, From: atHour(from), To: atHour(to)}))
		if err != nil {
			t.Fatal(err)
		}
		return r.Msg
	}
	want := &circuitsv1.UsageResponse{
		Id: frames.GetId(), StepSeconds: 60, BetweenPorts: true,
		Total: &circuitsv1.UsagePoint{Time: atHour(10), InProfileOctets: 1000, InProfilePackets: 10, ReturnOctets: 100, ReturnPackets: 3},
		Points: []*circuitsv1.UsagePoint{
			{Time: atHour(10), InProfileOctets: 1000, InProfilePackets: 10, ReturnOctets: 70, ReturnPackets: 1},
			{Time: atHour(11), ReturnOctets: 30, ReturnPackets: 2},
		},
	}
	if diff := cmp.Diff(want, usage(frames.GetId(), 10, 12), protocmp.Transform()); diff != "" {
		t.Errorf("both ways (-want +got):\n%s", diff)
	}
	if got := usage(half.GetId(), 10, 12); !got.GetCarriedUnknown() || got.GetTotal().GetInProfileOctets() != 5 {
		t.Errorf("one end is not heard of: %v", got)
	}
	if got := usage(half.GetId(), 8, 9); got.GetCarriedUnknown() {
		t.Errorf("before it was active: %v", got)
	}
	if got := usage(pairs.GetId(), 10, 12); got.GetCarriedUnknown() || got.GetBetweenPorts() {
		t.Errorf("a circuit for packets has no return direction: %v", got)
	}

	r, err := (&api{c}).Statement(t.Context(), connect.NewRequest(&circuitsv1.StatementRequest{Project: "astro"}))
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]*circuitsv1.StatementLine{"": r.Msg.GetTotal()}
	for _, l := range r.Msg.GetCircuits() {
		lines[l.GetCircuit()] = l
	}
	for id, want := range map[string]*circuitsv1.StatementLine{
		frames.GetId(): {CarriedOctets: 1100}, half.GetId(): {CarriedOctets: 5, CarriedUnknown: true}, pairs.GetId(): {}, "": {CarriedOctets: 1105, CarriedUnknown: true},
	} {
		if l := lines[id]; l.GetCarriedOctets() != want.GetCarriedOctets() || l.GetCarriedUnknown() != want.GetCarriedUnknown() || l.GetExcessOctets() != 0 {
			t.Errorf("line %q: %v, want %v", id, l, want)
		}
	}
	if !r.Msg.GetCarriedUnknown() {
		t.Errorf("the statement: %v", r.Msg)
	}
}

// What nobody counted is not 0: nobody knows it.
func TestWhatARouterDidNotSayIsNotNothing(t *testing.T) {
	at := func(state circuitsv1.State, hours float64) *circuitsv1.Transition {
		return &circuitsv1.Transition{State: state, Time: atHour(hours)}
	}
	frames := &circuitsv1.Circuit{
		Terms:   &circuitsv1.Terms{FromPort: &circuitsv1.Port{}, ToPort: &circuitsv1.Port{}},
		History: []*circuitsv1.Transition{at(circuitsv1.State_STATE_SCHEDULED, 0), at(circuitsv1.State_STATE_ACTIVE, 2), at(circuitsv1.State_STATE_RELEASED, 4)},
	}
	pairs := proto.CloneOf(frames)
	pairs.Terms = &circuitsv1.Terms{}
	both, near, far := &flowv1.CircuitUsage{Counted: true, ReturnCounted: true}, &flowv1.CircuitUsage{Counted: true}, &flowv1.CircuitUsage{ReturnCounted: true}
	for name, c := range map[string]struct {
		circuit  *circuitsv1.Circuit
		said     *flowv1.CircuitUsage
		from, to float64
		now      float64
		want     bool
	}{
		"both":                     {frames, both, 0, 5, 6, false},
		"only from_port":           {frames, near, 0, 5, 6, true},
		"only to_port":             {frames, far, 0, 5, 6, true},
		"neither":                  {frames, &flowv1.CircuitUsage{}, 3, 5, 6, true},
		"before it was active":     {frames, &flowv1.CircuitUsage{}, 0, 2, 6, false},
		"after it was active":      {frames, &flowv1.CircuitUsage{}, 4, 5, 6, false},
		"active for half a minute": {frames, near, 0, 2 + 1.0/120, 2 + 1.0/120, false},
		"active for two minutes":   {frames, near, 0, 2 + 1.0/30, 2 + 1.0/30, true},
		"a circuit for packets":    {pairs, near, 0, 5, 6, false},
		"one that no router has":   {pairs, &flowv1.CircuitUsage{}, 0, 5, 6, false},
	} {
		if got := unheard(c.circuit, c.said, atHour(c.from).AsTime(), atHour(c.to).AsTime(), atHour(c.now).AsTime()); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
