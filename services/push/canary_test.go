package push

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/testkit/await"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// counters is a flow store with one queue of the router whose counters are read.
type counters struct {
	flowv1connect.UnimplementedFlowStoreServiceHandler
	mu            sync.Mutex
	asked         string
	sent, dropped []*flowv1.TelemetryPoint
}

func (c *counters) Telemetry(_ context.Context, r *connect.Request[flowv1.TelemetryRequest]) (*connect.Response[flowv1.TelemetryResponse], error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = r.Msg.GetDevice()
	const queue = "/qos/interfaces/interface[interface-id=ge-er]/output/queues/queue[name=te-beta]/state/"
	return connect.NewResponse(&flowv1.TelemetryResponse{Series: []*flowv1.TelemetrySeries{
		{Device: c.asked, Path: queue + "transmit-pkts", Points: c.sent},
		{Device: c.asked, Path: queue + "transmit-octets", Points: c.dropped},
		{Device: c.asked, Path: queue + "dropped-pkts", Points: c.dropped},
	}}), nil
}

func (c *counters) watched() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked
}

// read adds a reading.
func (c *counters) read(at time.Time, sent, dropped uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = append(c.sent, &flowv1.TelemetryPoint{Time: timestamppb.New(at), Value: sent})
	c.dropped = append(c.dropped, &flowv1.TelemetryPoint{Time: timestamppb.New(at), Value: dropped})
}

const watchFor = 5 * time.Minute

// watching is a world whose change set has a canary, cr, under observation: it is the first in the order of
// changes.
func watching(t *testing.T) (*world, *counters) {
	t.Helper()
	w, flows := newWorld(t), &counters{}
	mux := http.NewServeMux()
	mux.Handle(flowv1connect.NewFlowStoreServiceHandler(flows, rpc.Bounded(rpc.MaxRequest)))
	local := rpc.NewLocal(mux)
	t.Cleanup(func() { local.Close() })
	w.stop()
	w.deps.Flows = flowv1connect.NewFlowStoreServiceClient(local.Client(), rpc.LocalURL)
	w.cfg.Canary = Canary{For: watchFor, MaxDrops: 0.01, MinPackets: 100, Every: 10 * time.Millisecond}
	w.start()
	must(t, w.command([]string{"create", "day-1"}), "planned")
	must(t, w.command([]string{"approve", "apply"}), "")
	canary := w.record().GetCanary()
	await.True(t, canary+" is watched", func() bool { return flows.watched() == canary })
	for name, r := range w.routers {
		if name == canary != (r.Commits() == 1) || name == canary != r.Pending() {
			t.Errorf("%s: %d transactions, pending %v, while %s is watched", name, r.Commits(), r.Pending(), canary)
		}
	}
	if got := w.record().GetState(); got != pushv1.State_STATE_CANARY {
		t.Errorf("the change set is %s", got)
	}
	return w, flows
}

// onlyTheCanary is the last note of a change set that ended before others than the canary were sent anything.
func (w *world) onlyTheCanary(state string) string {
	w.t.Helper()
	must(w.t, w.command([]string{"await", state}), state)
	canary := w.record().GetCanary()
	for name, r := range w.routers {
		if name != canary && r.Commits() != 0 || r.Pending() || len(r.Entries()) != 0 {
			w.t.Errorf("%s: %d transactions, pending %v, %d entries", name, r.Commits(), r.Pending(), len(r.Entries()))
		}
	}
	history := w.record().GetHistory()
	return history[len(history)-1].GetNote()
}

func TestACanaryThatKeepsItsSLOIsFollowedByTheOthers(t *testing.T) {
	w, flows := watching(t)
	flows.read(w.now(), 0, 0)
	flows.read(w.now().Add(watchFor-time.Second), 10_000, 100)
	w.passed.Add(int64(watchFor))
	must(t, w.command([]string{"await", "verified"}), "verified")
	var states []string
	figure := ""
	for _, step := range w.record().GetHistory() {
		states = append(states, stateWord(step.GetState()))
		if step.GetState() == pushv1.State_STATE_APPLYING {
			figure = step.GetNote()
		}
	}
	if got, want := strings.Join(states, " "), "draft planned approved canary applying applied verified"; got != want {
		t.Errorf("history: %s, want %s", got, want)
	}
	if !strings.Contains(figure, "100 of 10100 packets dropped in 5m0s") {
		t.Errorf("the history says %q", figure)
	}
}

func TestACanaryWhoseQueueDropsIsRolledBackAtOnce(t *testing.T) {
	w, flows := watching(t)
	flows.read(w.now(), 0, 0)
	flows.read(w.now().Add(time.Second), 970, 30)
	if note := w.onlyTheCanary("rolled-back"); !strings.Contains(note, "as canary: queue ge-er:te-beta dropped 3 % of 1000 packets, more than 1 %") {
		t.Errorf("the history says %q", note)
	}
}

func TestACanaryOfWhichNothingIsReadIsRolledBack(t *testing.T) {
	w, _ := watching(t)
	w.passed.Add(int64(watchFor))
	if note := w.onlyTheCanary("rolled-back"); !strings.Contains(note, "none of its queue counters was read in 5m0s") {
		t.Errorf("the history says %q", note)
	}
}

func TestAFreezeEndsTheWatch(t *testing.T) {
	w, _ := watching(t)
	must(t, w.command([]string{"freeze"}), "")
	if note := w.onlyTheCanary("rolled-back"); !strings.Contains(note, "all routers are frozen by noc: storm in the core") {
		t.Errorf("the history says %q", note)
	}
}

func TestAnAbortEndsTheWatch(t *testing.T) {
	w, _ := watching(t)
	must(t, w.command([]string{"abort"}), "")
	if note := w.onlyTheCanary("rolled-back"); !strings.Contains(note, "aborted by noc: calls come in") {
		t.Errorf("the history says %q", note)
	}
}

func TestARestartEndsTheWatch(t *testing.T) {
	w, _ := watching(t)
	w.command([]string{"restart"})
	if note := w.onlyTheCanary("rolled-back"); !strings.Contains(note, "the control plane restarted") {
		t.Errorf("the history says %q", note)
	}
}

// The commit of the canary must outlive the observation, or it is rolled back before the others follow.
func TestTheCanaryWaitsLongerForItsConfirmation(t *testing.T) {
	w, _ := watching(t)
	at := deviceOf(w.record(), w.record().GetCanary()).GetRollbackAt().AsTime()
	if got := at.Sub(w.began); got < w.cfg.RollbackAfter+watchFor+w.cfg.VerifyFor {
		t.Errorf("its commit is rolled back after %s", got)
	}
	must(t, w.command([]string{"abort"}), "")
	must(t, w.command([]string{"await", "rolled-back"}), "rolled-back")
}

func TestACanaryNeedsCounters(t *testing.T) {
	cfg := DefaultConfiguration()
	cfg.Canary.For = time.Minute
	if _, err := New(cfg, Dependencies{}); err == nil || !strings.Contains(err.Error(), "services/flowstore") {
		t.Errorf("%v", err)
	}
}

// A canary that is watched may be rolled back: what is planned meanwhile has it as it was before.
func TestWhatIsPlannedDuringTheWatchHasTheCanaryAsItWas(t *testing.T) {
	w, _ := watching(t)
	canary := w.record().GetCanary()
	w.plannedAfter(w.id)
	if deviceOf(w.record(), canary) == nil {
		t.Errorf("day-2 has no part for %s", canary)
	}
}
