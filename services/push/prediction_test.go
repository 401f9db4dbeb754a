package push

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/rpc"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/proto/gen/millrace/twin/v1/twinv1connect"
	"github.com/millrace/millrace/services/twin"
	"github.com/millrace/millrace/services/twin/predict"
)

// counted is a flow store in which port ge-cr of wr sent 10 Mbit/s for a minute.
type counted struct {
	flowv1connect.UnimplementedFlowStoreServiceHandler
}

func (counted) Telemetry(_ context.Context, r *connect.Request[flowv1.TelemetryRequest]) (*connect.Response[flowv1.TelemetryResponse], error) {
	out := &flowv1.TelemetryResponse{}
	if r.Msg.GetDevice() == "wr" && r.Msg.GetPathPrefix() == "/interfaces" {
		out.Series = []*flowv1.TelemetrySeries{{Device: "wr", Path: "/interfaces/interface[name=ge-cr]/state/counters/out-octets", Points: []*flowv1.TelemetryPoint{
			{Time: timestamppb.New(time.Unix(0, 0)), Value: 0}, {Time: timestamppb.New(time.Unix(60, 0)), Value: 75e6},
		}}}
	}
	return connect.NewResponse(out), nil
}

// predictingWorld is a world with a real twin, whose plan for wr has one queue on ge-cr.
func predictingWorld(t *testing.T) (*world, *policyv1.RouterPlan) {
	t.Helper()
	w := newWorld(t)
	mux := http.NewServeMux()
	local := rpc.NewLocal(mux)
	t.Cleanup(func() { local.Close() })
	c, err := twin.New(twin.DefaultConfiguration(), twin.Dependencies{Flows: flowv1connect.NewFlowStoreServiceClient(local.Client(), rpc.LocalURL)})
	if err != nil {
		t.Fatal(err)
	}
	mux.Handle(flowv1connect.NewFlowStoreServiceHandler(counted{}, rpc.Bounded(rpc.MaxRequest)))
	mux.Handle(c.Handler())
	w.stop()
	w.deps.Twin = twinv1connect.NewTwinServiceClient(local.Client(), rpc.LocalURL)
	w.start()
	for _, p := range w.plans.full {
		if p.GetRouter() == "wr" {
			p.Queues = []*policyv1.Queue{{Name: "beta", Weight: 100, Buffer: 100, Default: true}}
			p.Ports = []*policyv1.PortScheduling{{Interface: "ge-cr", Speed: 100e6}}
			p.BufferTime = uint64(100 * time.Millisecond)
			return w, p
		}
	}
	t.Fatal("the golden plans have no wr")
	return nil, nil
}

func createIn(t *testing.T, w *world, predict bool) *pushv1.ChangeSet {
	t.Helper()
	cs, err := w.push.create(t.Context(), &pushv1.CreateRequest{Policy: "hntes-two-queue", Author: "ann", Predict: predict})
	if err != nil {
		t.Fatal(err)
	}
	if cs.GetState() != pushv1.State_STATE_PLANNED {
		t.Fatalf("the change set is %s: %v", cs.GetState(), cs.GetHistory())
	}
	return cs
}

// predicted is the change set with its prediction or the note in its place.
func predicted(w *world, cs *pushv1.ChangeSet) *pushv1.ChangeSet {
	w.t.Helper()
	w.id = cs.GetId()
	w.await("prediction of "+w.id, func(cs *pushv1.ChangeSet) bool { return !AwaitsPrediction(cs) })
	return w.get()
}

func TestAChangeSetCarriesItsPrediction(t *testing.T) {
	w, _ := predictingWorld(t)
	cs := predicted(w, createIn(t, w, true))
	classes := cs.GetPrediction().GetClasses()
	want := 10e6 * predict.IPShare // the port counts Ethernet headers too
	if len(classes) != 1 || classes[0].GetRouter() != "wr" || classes[0].GetOffered() != uint64(want) || classes[0].GetLossPercent() != 0 {
		t.Errorf("predicted %v, notes %v, want that the %.0f bit/s of wr's ge-cr pass", cs.GetPrediction(), cs.GetNotes(), want)
	}
}

func TestNobodyPredictsUnasked(t *testing.T) {
	w, _ := predictingWorld(t)
	if cs := createIn(t, w, false); AwaitsPrediction(cs) || cs.GetPrediction() != nil {
		t.Errorf("predicted %v", cs.GetPrediction())
	}
}

func TestAPredictionThatFailsIsANote(t *testing.T) {
	w, plan := predictingWorld(t)
	plan.Scheduling = &policyv1.Scheduling{Excess: "by dice"}
	cs := predicted(w, createIn(t, w, true))
	if notes := strings.Join(cs.GetNotes(), "\n"); cs.GetPrediction() != nil || !strings.Contains(notes, "could not be predicted") || !strings.Contains(notes, "by dice") {
		t.Errorf("prediction %v, notes:\n%s", cs.GetPrediction(), notes)
	}
}
