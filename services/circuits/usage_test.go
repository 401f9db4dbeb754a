package circuits

import (
	"context"
	"errors"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
)

// flows is a flow store that has the same to say of every circuit.
type flows struct {
	flowv1connect.FlowStoreServiceClient
	away bool
	// more are circuits too many, or too few, in an answer.
	more  int
	asked *flowv1.CircuitUsageRequest
}

func (f *flows) CircuitUsage(_ context.Context, r *connect.Request[flowv1.CircuitUsageRequest]) (*connect.Response[flowv1.CircuitUsageResponse], error) {
	f.asked = r.Msg
	if f.away {
		return nil, connect.NewError(connect.CodeUnavailable, errors.New("away"))
	}
	if r.Msg.GetFrom().AsTime().Year() < 2000 {
		return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("no such window"))
	}
	out := &flowv1.CircuitUsageResponse{StepSeconds: 120}
	ids := append(r.Msg.GetCircuits(), "one-more")
	for _, id := range ids[:len(r.Msg.GetCircuits())+f.more] {
		out.Circuits = append(out.Circuits, &flowv1.CircuitUsage{Circuit: id, Points: []*flowv1.UsagePoint{
			{Time: r.Msg.GetFrom(), InProfileOctets: 1000, InProfilePackets: 10, ExcessOctets: 300, ExcessPackets: 3},
			{Time: r.Msg.GetTo(), InProfileOctets: 500, InProfilePackets: 5},
		}})
	}
	return connect.NewResponse(out), nil
}

// atHour is so many hours after noon.
func atHour(hours float64) *timestamppb.Timestamp {
	return timestamppb.New(noon.Add(time.Duration(hours * float64(time.Hour))))
}

func TestTheUsageOfACircuit(t *testing.T) {
	w, store := newWorld(t), &flows{}
	c := w.start()
	c.deps.Flows = store
	id := w.booked(c, "usage", w.terms("a", "b", 1)).GetId()
	usage := func(from, to *timestamppb.Timestamp) (*circuitsv1.UsageResponse, error) {
		r, err := (&api{c}).Usage(t.Context(), connect.NewRequest(&circuitsv1.UsageRequest{Id: id, From: from, To: to}))
		if err != nil {
			return nil, err
		}
		return r.Msg, nil
	}
	if got, err := usage(nil, nil); err != nil || len(got.GetPoints()) != 0 || store.asked != nil {
		t.Errorf("before its start: %v (%v)", got, err)
	}
	w.set(noon.Add(12 * time.Hour))
	for name, c := range map[string]struct{ from, to, wantFrom, wantTo *timestamppb.Timestamp }{
		"since its start":             {nil, nil, atHour(10), atHour(12)},
		"a window":                    {atHour(10.5), atHour(11), atHour(10.5), atHour(11)},
		"not before it was requested": {atHour(-1000), atHour(11), atHour(0), atHour(11)},
		"not in the future":           {atHour(11), atHour(1000), atHour(11), atHour(12)},
	} {
		got, err := usage(c.from, c.to)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		ask := &flowv1.CircuitUsageRequest{Circuits: []string{id}, From: c.wantFrom, To: c.wantTo}
		if diff := cmp.Diff(ask, store.asked, protocmp.Transform()); diff != "" {
			t.Errorf("%s: asked (-want +got):\n%s", name, diff)
		}
		want := &circuitsv1.UsageResponse{
			Id: id, StepSeconds: 120, Total: &circuitsv1.UsagePoint{Time: c.wantFrom, InProfileOctets: 1500, InProfilePackets: 15, ExcessOctets: 300, ExcessPackets: 3},
			Points: []*circuitsv1.UsagePoint{
				{Time: c.wantFrom, InProfileOctets: 1000, InProfilePackets: 10, ExcessOctets: 300, ExcessPackets: 3},
				{Time: c.wantTo, InProfileOctets: 500, InProfilePackets: 5},
			},
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if _, err := usage(atHour(3), atHour(2)); connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("a window that ends before it begins: %v", err)
	}
	store.away = true
	if _, err := usage(nil, nil); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("the flow store is away: %v", err)
	}
	c.deps.Flows = nil
	if _, err := usage(nil, nil); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("there is no flow store: %v", err)
	}
}

func TestTheStatementOfAProject(t *testing.T) {
	w, store := newWorld(t), &flows{}
	c := w.start()
	c.deps.Flows = store
	dropped := w.terms("a", "b", 1)
	dropped.Excess, dropped.Description = circuitsv1.Excess_EXCESS_DROP, "of the telescope"
	first, second := w.booked(c, "one", dropped), w.booked(c, "two", w.terms("b", "c", 2))
	later := w.terms("a", "c", 1)
	later.Start = atHour(17)
	w.booked(c, "three", later)
	w.set(noon.Add(13 * time.Hour)) // three hours after the start of the first two
	statement := func(ask *circuitsv1.StatementRequest) *circuitsv1.StatementResponse {
		t.Helper()
		r, err := (&api{c}).Statement(t.Context(), connect.NewRequest(ask))
		if err != nil {
			t.Fatal(err)
		}
		return r.Msg
	}
	got := statement(&circuitsv1.StatementRequest{Project: "astro", From: atHour(11), To: atHour(100)})
	want := &circuitsv1.StatementResponse{
		Project: "astro", From: atHour(11), To: atHour(13),
		Circuits: []*circuitsv1.StatementLine{
			{Circuit: first.GetId(), Description: "of the telescope", BookedGbitHours: 2, CarriedOctets: 1500, ExcessOctets: 300},
			{Circuit: second.GetId(), BookedGbitHours: 4, CarriedOctets: 1800, ExcessOctets: 300},
		},
		Total: &circuitsv1.StatementLine{BookedGbitHours: 6, CarriedOctets: 3300, ExcessOctets: 600},
	}
	late := protocmp.IgnoreFields(&circuitsv1.StatementLine{}, "late_starts") // as a clock of the service decides it
	if diff := cmp.Diff(want, got, protocmp.Transform(), late); diff != "" {
		t.Errorf("statement (-want +got):\n%s", diff)
	}
	if !store.asked.GetTotals() || len(store.asked.GetCircuits()) != 2 {
		t.Errorf("asked the flow store %v", store.asked)
	}
	if got := statement(&circuitsv1.StatementRequest{Project: "astro", From: timestamppb.New(time.Unix(0, 0)), To: atHour(13)}); got.GetTotal().GetCarriedOctets() != 3300 {
		t.Errorf("a window from 1970 on: %v", got)
	}
	if got := statement(&circuitsv1.StatementRequest{Project: "bio"}); len(got.GetCircuits()) != 0 || !got.GetFrom().AsTime().Equal(noon.Add(13*time.Hour-statementWindow)) {
		t.Errorf("a project without circuits: %v", got)
	}
	if got := statement(&circuitsv1.StatementRequest{Project: "astro", From: atHour(50), To: atHour(60)}); len(got.GetCircuits()) != 0 || got.GetTotal() == nil {
		t.Errorf("a window in the future: %v", got)
	}
	c.deps.Flows = nil
	if got := statement(&circuitsv1.StatementRequest{Project: "astro"}); !got.GetCarriedUnknown() || got.GetTotal().GetCarriedOctets() != 0 {
		t.Errorf("without a flow store: %v", got)
	}
	if _, err := (&api{c}).Statement(t.Context(), connect.NewRequest(&circuitsv1.StatementRequest{Project: "a b"})); connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("a name that is none: %v", err)
	}
}

// A flow store that answers of more circuits, or fewer, than it was asked of is one that nobody understands.
func TestAFlowStoreThatAnswersOfOthers(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	id := w.booked(c, "one", w.terms("a", "b", 1)).GetId()
	w.set(noon.Add(13 * time.Hour))
	for _, more := range []int{-1, 1} {
		c.deps.Flows = &flows{more: more}
		if _, err := (&api{c}).Usage(t.Context(), connect.NewRequest(&circuitsv1.UsageRequest{Id: id})); connect.CodeOf(err) != connect.CodeUnavailable {
			t.Errorf("usage, %d more: %v", more, err)
		}
		if _, err := (&api{c}).Statement(t.Context(), connect.NewRequest(&circuitsv1.StatementRequest{Project: "astro"})); connect.CodeOf(err) != connect.CodeUnavailable {
			t.Errorf("statement, %d more: %v", more, err)
		}
	}
	never := &timestamppb.Timestamp{Nanos: -1}
	for range 30 { // in whichever order they are looked at
		_, err := (&api{c}).Usage(t.Context(), connect.NewRequest(&circuitsv1.UsageRequest{Id: id, From: never, To: never}))
		if refusalIn(err).GetField() != "from" {
			t.Fatalf("neither is a time: %v", err)
		}
	}
}
