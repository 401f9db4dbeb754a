package push

import (
	"context"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/testkit/await"
	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/drift"
	"github.com/millrace/millrace/services/push/pushtest"
)

// verifiedWorld has day-1 in force, and answers drift so. No router is read unless the test requests it.
func verifiedWorld(t *testing.T, answer drift.Answer) *world {
	t.Helper()
	w := newWorld(t)
	w.stop()
	w.cfg.Reconcile = Reconcile{Answer: string(answer), AskAgain: time.Hour}
	w.start()
	must(t, w.command([]string{"create", "day-1"}), "planned")
	must(t, w.command([]string{"approve", "apply"}), "")
	must(t, w.command([]string{"await", "verified"}), "verified")
	return w
}

// read reads a router as the loops do.
func (w *world) read(c *Component, router string) {
	w.t.Helper()
	d, _ := w.deps.Inventory.ByName(router)
	if err := c.reconcile(w.t.Context(), d); err != nil {
		w.t.Fatal(err)
	}
}

// drifts are what the API lists.
func (w *world) drifts() []*pushv1.Drift {
	w.t.Helper()
	return w.listDrift().GetDrifts()
}

func (w *world) listDrift() *pushv1.ListDriftResponse {
	w.t.Helper()
	r, err := w.api.ListDrift(w.t.Context(), connect.NewRequest(&pushv1.ListDriftRequest{}))
	if err != nil {
		w.t.Fatal(err)
	}
	return r.Msg
}

// repairs are the change sets that restore something, oldest first.
func (w *world) repairs() (out []*pushv1.ChangeSet) {
	w.t.Helper()
	all, err := w.push.list(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, cs := range all {
		if len(cs.GetRepairs()) > 0 {
			out = append(out, cs)
		}
	}
	return out
}

// hear returns the drift events from now on.
func (w *world) hear() <-chan *eventv1.Event {
	w.t.Helper()
	out := make(chan *eventv1.Event, 100)
	err := w.deps.Bus.Subscribe(w.t.Context(), bus.TopicEvents, "test", func(_ context.Context, m bus.Message) error {
		e := &eventv1.Event{}
		if err := proto.Unmarshal(m.Value, e); err != nil {
			return err
		}
		if strings.HasPrefix(e.GetCode(), "config-drift") {
			out <- e
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

var alphaQueue = configentry.Queue.Path("te-alpha")

func TestDriftIsAnsweredAsConfigured(t *testing.T) {
	for answer, c := range map[drift.Answer]struct {
		repairs int
		state   string
	}{drift.Report: {0, ""}, drift.Request: {1, "planned"}, drift.Repair: {1, "verified"}} {
		t.Run(string(answer), func(t *testing.T) {
			w := verifiedWorld(t, answer)
			told, was := w.hear(), w.routers["wr"].Entries()
			for range 2 {
				w.read(w.push, "wr")
			}
			if len(w.drifts()) != 0 {
				t.Fatalf("a router that was not touched: %v", w.drifts())
			}
			w.routers["wr"].Edit(alphaQueue, "")
			for range 2 {
				w.read(w.push, "wr")
			}
			e := await.Value(t, "drift is reported", told)
			if e.GetSubject() != "wr" || !strings.Contains(e.GetText(), w.id) || !strings.Contains(e.GetDetail(), "+++ "+alphaQueue) {
				t.Errorf("told %v", e)
			}
			repairs := w.repairs()
			if len(repairs) != c.repairs {
				t.Fatalf("%d repairs, want %d", len(repairs), c.repairs)
			}
			if answer == drift.Report {
				return
			}
			w.id = repairs[0].GetId()
			must(t, w.command([]string{"await", c.state}), c.state)
			if answer == drift.Request {
				must(t, w.command([]string{"approve", "apply"}), "")
				must(t, w.command([]string{"await", "verified"}), "verified")
			} else if h := w.record().GetHistory()[2]; h.GetBy() != byRule || !strings.Contains(h.GetNote(), "running config of wr differs") {
				t.Errorf("approved by %s: %s", h.GetBy(), h.GetNote())
			}
			if len(w.record().GetDevices()) != 1 || len(w.routers["wr"].Entries()) != len(was) {
				t.Errorf("the repair is of %d routers and left %d entries, want 1 and %d", len(w.record().GetDevices()), len(w.routers["wr"].Entries()), len(was))
			}
			w.read(w.push, "wr")
			if e := await.Value(t, "that it is gone is told", told); e.GetCode() != events.ConfigDriftGone.Code() {
				t.Errorf("told %v", e)
			}
			if len(w.drifts()) != 0 {
				t.Errorf("still listed: %v", w.drifts())
			}
		})
	}
}

// An unknown state is not drift: a router that is away, and one that a change set is about to change.
func TestWhatCannotBeJudgedIsNotDrift(t *testing.T) {
	w := verifiedWorld(t, drift.Repair)
	w.routers["wr"].Edit(alphaQueue, "")
	w.routers["wr"].Down()
	d, _ := w.deps.Inventory.ByName("wr")
	if err := w.push.reconcile(t.Context(), d); err == nil {
		t.Error("a router that is down was read")
	}
	w.routers["wr"].Up(t)
	w.plans.set("none")
	must(t, w.command([]string{"create", "day-2"}), "planned")
	w.routers["er"].Inject(pushtest.HangAfterCommit)
	must(t, w.command([]string{"approve", "apply"}), "")
	await.True(t, "er is being sent its part", w.routers["er"].Hangs)
	w.read(w.push, "wr")
	if len(w.drifts()) != 0 || len(w.repairs()) != 0 {
		t.Errorf("drift %v, repairs %v", w.drifts(), w.repairs())
	}
	w.routers["er"].TimeOut()
	must(t, w.command([]string{"await", "verified"}), "verified")
}

// Somebody who changes the router again after each repair is not answered by a change set each time.
func TestRepairsDoNotFight(t *testing.T) {
	w := verifiedWorld(t, drift.Repair)
	for range 3 {
		w.routers["wr"].Edit(alphaQueue, "")
		w.read(w.push, "wr")
		w.id = w.repairs()[0].GetId()
		must(t, w.command([]string{"await", "verified"}), "verified")
	}
	if n := len(w.repairs()); n != 1 {
		t.Errorf("%d repairs within ask_again", n)
	}
	w.passed.Add(int64(2 * time.Hour))
	w.read(w.push, "wr")
	if n := len(w.repairs()); n != 2 {
		t.Errorf("%d repairs after ask_again, want 2", n)
	}
}

func TestTwoControlPlanesTellDriftOnceAndAskForOneRepair(t *testing.T) {
	w := verifiedWorld(t, drift.Request)
	told := w.hear()
	second := w.second()
	w.routers["wr"].Edit(alphaQueue, "")
	d, _ := w.deps.Inventory.ByName("wr")
	both := make(chan error, 2)
	for _, c := range []*Component{w.push, second} {
		go func() { both <- c.reconcile(t.Context(), d) }()
	}
	for range 2 {
		if err := await.Value(t, "both have read", both); err != nil {
			t.Error(err)
		}
	}
	if len(w.repairs()) != 1 || len(w.drifts()) != 1 {
		t.Errorf("%d repairs, %d drifts", len(w.repairs()), len(w.drifts()))
	}
	w.routers["wr"].Edit(configentry.Queue.Path("te-other"), `{"name": "te-other"}`)
	w.read(second, "wr") // the first event is read first
	first := await.Value(t, "drift is reported", told)
	if next := await.Value(t, "other drift is told", told); strings.Contains(first.GetText(), "te-other") || !strings.Contains(next.GetText(), "te-other") {
		t.Errorf("told %q and %q", first.GetText(), next.GetText())
	}
}

// A rollback is expected to stay, too; and a repair does not prevent the rollback of the change set that it
// restored.
func TestARepairedChangeSetCanBeRolledBack(t *testing.T) {
	w := verifiedWorld(t, drift.Repair)
	first := w.id
	w.routers["wr"].Edit(alphaQueue, "")
	w.read(w.push, "wr")
	w.id = w.repairs()[0].GetId()
	must(t, w.command([]string{"await", "verified"}), "verified")
	w.id = first
	must(t, w.command([]string{"rollback"}), "")
	must(t, w.command([]string{"await", "rolled-back"}), "rolled-back")
	w.read(w.push, "wr")
	if len(w.drifts()) != 0 {
		t.Fatalf("what was rolled back differs: %v", w.drifts())
	}
	w.routers["wr"].Edit(alphaQueue, `{"name": "te-alpha"}`)
	w.read(w.push, "wr")
	if len(w.drifts()) != 1 {
		t.Errorf("an entry of ours that somebody put back: %v", w.drifts())
	}
}

// A router that answers again is read at once, and others when their time has come.
func TestARouterThatAnswersAgainIsReadAtOnce(t *testing.T) {
	w := verifiedWorld(t, drift.Report)
	w.stop()
	w.cfg.Reconcile.Every = 24 * time.Hour
	w.start()
	told := w.hear()
	w.routers["wr"].Edit(alphaQueue, "")
	w.push.events.Publish(t.Context(), events.RouterReachable, "wr", "Router wr answers.")
	if e := await.Value(t, "drift is reported", told); e.GetSubject() != "wr" {
		t.Errorf("told %v", e)
	}
}

func TestRoutersAreReadAtIntervals(t *testing.T) {
	w := verifiedWorld(t, drift.Report)
	w.stop()
	w.cfg.Reconcile.Every = time.Millisecond
	w.start()
	w.routers["wr"].Edit(alphaQueue, "")
	await.True(t, "drift is listed", func() bool { return len(w.drifts()) == 1 })
}

// Where drift is answered by request an operator decides about the repair, also where the policy's change
// sets are applied without a person.
func TestARequestedRepairWaitsForAPersonUnderRuleAuto(t *testing.T) {
	w := verifiedWorld(t, drift.Request)
	w.stop()
	w.cfg.Approval.Rule = "auto"
	w.start()
	w.routers["wr"].Edit(alphaQueue, "")
	w.read(w.push, "wr")
	if r := w.repairs(); len(r) != 1 || r[0].GetState() != pushv1.State_STATE_PLANNED {
		t.Errorf("repairs: %v", r)
	}
}
