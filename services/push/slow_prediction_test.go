package push

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/testkit/await"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	twinv1 "github.com/millrace/millrace/proto/gen/millrace/twin/v1"
	"github.com/millrace/millrace/proto/gen/millrace/twin/v1/twinv1connect"
)

// slow is a twin that answers on a signal.
type slow struct {
	asked  chan *twinv1.PredictRequest
	answer chan *twinv1.PredictResponse
}

func (s slow) Predict(ctx context.Context, r *connect.Request[twinv1.PredictRequest]) (*connect.Response[twinv1.PredictResponse], error) {
	s.asked <- r.Msg
	select {
	case a := <-s.answer:
		return connect.NewResponse(a), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// slowWorld is a world whose twin is slow, and whose plans have queues.
func slowWorld(t *testing.T, timeout time.Duration) (*world, slow) {
	t.Helper()
	w := newWorld(t)
	s := slow{make(chan *twinv1.PredictRequest, 1), make(chan *twinv1.PredictResponse, 1)}
	mux := http.NewServeMux()
	mux.Handle(twinv1connect.NewTwinServiceHandler(s, rpc.Bounded(rpc.MaxRequest)))
	local := rpc.NewLocal(mux)
	t.Cleanup(func() { local.Close() })
	w.stop()
	w.deps.Twin, w.cfg.PredictTimeout = twinv1connect.NewTwinServiceClient(local.Client(), rpc.LocalURL), timeout
	w.start()
	t.Cleanup(w.stop) // before the twin, which waits for its callers
	for _, p := range w.plans.full {
		p.Queues = []*policyv1.Queue{{Name: "beta", Weight: 100, Buffer: 100, Default: true}}
	}
	return w, s
}

func TestATwinThatHangsKeepsNobodyFromApplying(t *testing.T) {
	w, twin := slowWorld(t, 10*time.Minute)
	w.id = createIn(t, w, true).GetId()
	await.Value(t, "the twin is asked", twin.asked)
	if _, err := w.api.Approve(t.Context(), connect.NewRequest(&pushv1.ApproveRequest{Id: w.id, By: "noc", Apply: true})); err != nil {
		t.Fatal(err)
	}
	w.await("verified", func(cs *pushv1.ChangeSet) bool { return cs.GetState() == pushv1.State_STATE_VERIFIED })
	twin.answer <- &twinv1.PredictResponse{Classes: []*twinv1.ClassEffect{{Router: "wr"}}}
	cs := predicted(w, w.record())
	if cs.GetState() != pushv1.State_STATE_VERIFIED || len(cs.GetPrediction().GetClasses()) != 1 {
		t.Errorf("after the late answer the change set is %s with %v", cs.GetState(), cs.GetPrediction())
	}
}

func TestACallerThatLeavesASlowTwinLeavesAPlannedChangeSet(t *testing.T) {
	w, twin := slowWorld(t, 10*time.Minute)
	ctx, leave := context.WithCancel(t.Context())
	created := make(chan error, 1)
	go func() {
		_, err := w.push.create(ctx, &pushv1.CreateRequest{Policy: "hntes-two-queue", Author: "ann", Predict: true, IdempotencyKey: t.Name()})
		created <- err
	}()
	await.Value(t, "the twin is asked", twin.asked)
	leave()
	await.Value(t, "the request ends", created)
	w.id = newID(t.Name())
	if s := w.record().GetState(); s != pushv1.State_STATE_PLANNED {
		t.Errorf("the change set is %s", s)
	}
	twin.answer <- &twinv1.PredictResponse{Assumptions: []string{"none"}}
	if cs := predicted(w, w.record()); cs.GetPrediction() == nil {
		t.Errorf("no prediction; notes %v", cs.GetNotes())
	}
}

func TestATwinThatDoesNotAnswerInTimeIsANote(t *testing.T) {
	w, _ := slowWorld(t, time.Millisecond)
	cs := predicted(w, createIn(t, w, true))
	if notes := strings.Join(cs.GetNotes(), "\n"); cs.GetPrediction() != nil || !strings.Contains(notes, notPredicted+"it takes longer than push.predict_timeout (1ms)") {
		t.Errorf("prediction %v, notes:\n%s", cs.GetPrediction(), notes)
	}
}

func TestNobodyAsksTheTwinAboutAFailedComparison(t *testing.T) {
	w, twin := slowWorld(t, 10*time.Minute)
	w.routers["wr"].Down()
	cs, err := w.push.create(t.Context(), &pushv1.CreateRequest{Policy: "hntes-two-queue", Author: "ann", Predict: true})
	if err != nil || cs.GetState() != pushv1.State_STATE_FAILED || AwaitsPrediction(cs) {
		t.Fatalf("the change set is %s, %v", cs.GetState(), err)
	}
	w.stop() // whatever runs in the background has ended
	select {
	case <-twin.asked:
		t.Error("the twin was asked")
	default:
	}
	w.start()
}

func TestTheTwinGetsPlansWithoutConfigEntries(t *testing.T) {
	w, twin := slowWorld(t, 10*time.Minute)
	cs := createIn(t, w, true)
	asked := await.Value(t, "the twin is asked", twin.asked).GetPlans().GetPlans()
	if len(asked) != len(cs.GetDevices()) {
		t.Errorf("the twin got %d plans of %d", len(asked), len(cs.GetDevices()))
	}
	for _, p := range asked {
		if len(p.GetEntries()) > 0 || len(p.GetQueues()) != 1 {
			t.Errorf("%s: the twin got %d entries and %d queues", p.GetRouter(), len(p.GetEntries()), len(p.GetQueues()))
		}
	}
	for _, d := range cs.GetDevices() {
		if len(d.GetPlan().GetEntries()) == 0 {
			t.Errorf("%s: the change set lost its entries", d.GetDevice())
		}
	}
}

func TestAPredictionFitsIntoItsRecord(t *testing.T) {
	p := &twinv1.PredictResponse{}
	for i := range 20_000 {
		p.Classes = append(p.Classes, &twinv1.ClassEffect{Router: fmt.Sprintf("router-%d", i), LossPercent: float64(i % 10_000)})
		p.Assumptions = append(p.Assumptions, fmt.Sprintf("router-%d is left out: its counters are not known", i))
	}
	got := capped(p)
	if len(got.GetClasses()) != maxClasses || proto.Size(got) > pieceBytes/4 {
		t.Fatalf("%d classes in %d octets", len(got.GetClasses()), proto.Size(got))
	}
	if first, last := got.GetClasses()[0], got.GetClasses()[maxClasses-1]; first.GetRouter() != "router-9999" || last.GetLossPercent() != 9750 {
		t.Errorf("from %v to %v, want the 500 with most loss, most first", first, last)
	}
	tail := strings.Join(got.GetAssumptions()[maxAssumptions:], "\n")
	if got.GetAssumptions()[0] != p.GetAssumptions()[0] || !strings.Contains(tail, "19500 more classes are left out") || !strings.Contains(tail, "19900 more assumptions are left out") {
		t.Errorf("the assumptions end with:\n%s", tail)
	}
	if len(p.GetClasses()) != 20_000 || p.GetClasses()[0].GetRouter() != "router-0" {
		t.Error("the twin's answer was changed")
	}
	if small := (&twinv1.PredictResponse{Classes: p.GetClasses()[:maxClasses], Assumptions: p.GetAssumptions()[:maxAssumptions]}); !proto.Equal(capped(small), small) {
		t.Error("a prediction within the limits was changed")
	}
}

func TestANoteOfManyRoutersIsCut(t *testing.T) {
	if got := noteOf(errors.New(strings.Repeat("router wr: ü\n", 10_000))); len(got) > maxNoteBytes+len(" …") || !strings.HasPrefix(got, notPredicted+"router wr: ü; router") {
		t.Errorf("%d octets: %.80s", len(got), got)
	}
}
