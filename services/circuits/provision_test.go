package circuits

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/internal/testkit/await"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
	"github.com/millrace/millrace/services/circuits/admit"
	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/circuits/life"
	"github.com/millrace/millrace/services/circuits/provision"
	"github.com/millrace/millrace/services/push"
	"github.com/millrace/millrace/services/push/pushtest"
)

const (
	provisioning = circuitsv1.State_STATE_PROVISIONING
	activeState  = circuitsv1.State_STATE_ACTIVE
	interrupted  = circuitsv1.State_STATE_INTERRUPTED
	releasing    = circuitsv1.State_STATE_RELEASING
	released     = circuitsv1.State_STATE_RELEASED
	failedState  = circuitsv1.State_STATE_FAILED
)

// line is how services/push is reached: it may be cut, and requests for change sets alone may be.
type line struct {
	pushv1connect.ChangeServiceClient
	cut, noCreate atomic.Bool
	// refused counts what was not let through.
	refused atomic.Int32
}

var errCut = connect.NewError(connect.CodeUnavailable, errors.New("the line is cut"))

func (l *line) Get(ctx context.Context, r *connect.Request[pushv1.GetRequest]) (*connect.Response[pushv1.GetResponse], error) {
	if l.cut.Load() {
		l.refused.Add(1)
		return nil, errCut
	}
	return l.ChangeServiceClient.Get(ctx, r)
}

func (l *line) Create(ctx context.Context, r *connect.Request[pushv1.CreateRequest]) (*connect.Response[pushv1.CreateResponse], error) {
	if l.cut.Load() || l.noCreate.Load() {
		l.refused.Add(1)
		return nil, errCut
	}
	return l.ChangeServiceClient.Create(ctx, r)
}

// Circuits are put on routers the lead before their start, those that begin together by one change set, and are taken
// off at their end.
func TestCircuitsAreOnRoutersFromStartToEnd(t *testing.T) {
	t.Parallel()
	w := newLive(t)
	w.world.cfg.Provision.Lead = time.Hour
	l := &line{ChangeServiceClient: w.changes}
	c := w.replica(l)
	w.queues()
	one, two := w.from("wr", "192.0.2.0/26", 20), w.from("wr", "192.0.2.64/26", 10)
	one.Start, one.End, two.Start, two.End = in(3000), in(7200), in(3000), in(7200)
	a, err := w.world.request(c, "1", one, false)
	must(t, err)
	b, err := w.world.request(c, "2", two, false)
	must(t, err)
	l.noCreate.Store(true)
	for _, id := range []string{a.GetId(), b.GetId()} {
		_, err := (&api{c}).Commit(t.Context(), connect.NewRequest(&circuitsv1.CommitRequest{Id: id, By: "ann"}))
		must(t, err)
		w.world.is(c, id, provisioning)
	}
	l.noCreate.Store(false)
	for _, id := range []string{a.GetId(), b.GetId()} {
		w.world.is(c, id, activeState)
		got := w.world.get(c, id)
		if got.GetLate() || !got.GetReady().AsTime().Before(got.GetTerms().GetStart().AsTime()) {
			t.Errorf("it starts at %s and was ready at %s, late: %v", got.GetTerms().GetStart().AsTime(), got.GetReady().AsTime(), got.GetLate())
		}
		if !w.holds("wr", id) {
			t.Errorf("the ingress has no LSP of circuit %s", id)
		}
	}
	brief := w.from("cr", "192.0.2.128/26", 5)
	brief.End = in(3600)
	d := w.world.booked(c, "3", brief)
	silent := w.from("wr", "192.0.2.192/26", 1)
	silent.Pairs = nil
	nothing := w.world.booked(c, "4", silent)
	w.world.is(c, d.GetId(), activeState)
	await.True(t, "its end is soon", func() bool { // its version grows as its state does
		_, err := w.world.modify(c, &circuitsv1.ModifyRequest{Id: d.GetId(), Version: w.world.get(c, d.GetId()).GetVersion(), End: in(5)})
		return err == nil
	})
	w.world.is(c, d.GetId(), released)
	if got := w.world.get(c, nothing.GetId()); got.GetState() != scheduled || got.GetLate() {
		t.Errorf("a circuit without traffic is %s, late: %v", got.GetState(), got.GetLate())
	}
	w.release(c, a.GetId())
	w.release(c, b.GetId())
	w.world.is(c, a.GetId(), released)
	w.world.is(c, b.GetId(), released)
	w.asBefore()
}

// Where somebody else has a circuit's capacity until its start, it is not put on routers before.
func TestCapacityOfOthersIsNotTakenBeforeTheStart(t *testing.T) {
	t.Parallel()
	w := newLive(t)
	w.world.cfg.Provision.Lead = time.Hour
	c := w.replica(w.changes)
	w.queues()
	first, second := w.from("wr", "192.0.2.0/26", 30), w.from("wr", "192.0.2.64/26", 30)
	first.End, second.Start, second.End = in(1800), in(1800), in(3600)
	a := w.world.booked(c, "1", first)
	w.world.is(c, a.GetId(), activeState)
	b := w.world.booked(c, "2", second)
	if x, y := w.world.get(c, a.GetId()).GetPath(), b.GetPath(); len(x) != 1 || len(y) != 1 || x[0].GetLink() != y[0].GetLink() {
		t.Fatalf("paths %v and %v", x, y)
	}
	other := w.world.booked(c, "3", w.from("cr", "192.0.2.128/26", 5))
	w.world.is(c, other.GetId(), activeState) // so a round has passed
	if got := w.world.get(c, b.GetId()); got.GetState() != scheduled || w.holds("wr", b.GetId()) {
		t.Errorf("while the first one has its capacity it is %s", got.GetState())
	}
	w.release(c, a.GetId())
	w.world.is(c, b.GetId(), activeState)
}

// Once a circuit is on routers before its start it has its capacity there and then: nobody else is granted it.
func TestCapacityOnRoutersIsBooked(t *testing.T) {
	t.Parallel()
	w := newLive(t)
	w.world.cfg.Provision.Lead = time.Hour
	c := w.replica(w.changes)
	w.queues()
	terms := w.from("wr", "192.0.2.0/26", 30)
	terms.Start, terms.End = in(1800), in(3600)
	a := w.world.booked(c, "1", terms)
	w.world.is(c, a.GetId(), activeState)
	is := w.world.get(c, a.GetId())
	if from, ready := is.GetSlots()[0].GetStart().AsTime(), is.GetReady().AsTime(); from.After(ready) || !proto.Equal(is.GetTerms(), a.GetTerms()) || is.GetLate() {
		t.Errorf("routers had it at %s, and it is booked from %s on: %v", ready, from, is)
	}
	before := w.from("wr", "192.0.2.64/26", 30)
	before.End, before.MaxHops = in(1800), 1
	q, err := w.world.quote(c, before)
	must(t, err)
	if no := q.GetRefusal(); no.GetCode() != "CAPACITY" || len(no.GetBlockers()) == 0 || no.GetBlockers()[0].GetLink() != a.GetPath()[0].GetLink() {
		t.Errorf("its capacity until its start is refused with %v", no)
	}
	before.RateBitsPerSecond = 20 * mega
	b := w.world.booked(c, "2", before)
	w.world.is(c, b.GetId(), activeState)
}

// A circuit that is booked ahead of its start begins when it was to begin, also on another path.
func TestACircuitThatIsBookedAheadKeepsItsStart(t *testing.T) {
	was := &circuitsv1.Record{Circuit: &circuitsv1.Circuit{Slots: []*circuitsv1.Slot{{Start: moment(100), End: moment(300)}}}, Life: &circuitsv1.Life{Start: 200}}
	for from, want := range map[int64]int64{100: 200, 150: 150} {
		if got := startOf(was, []admit.Slot{{Window: calendar.Window{Start: from, End: 300}}}); got != want {
			t.Errorf("slots from %d on: it begins at %d, want %d", from, got, want)
		}
	}
}

// Two replicas do the same; what one of them has recorded and not requested when it dies, the other one requests.
func TestAReplicaThatDiesBeforeItAsks(t *testing.T) {
	t.Parallel()
	w := newLive(t)
	dying := &line{ChangeServiceClient: w.changes}
	first := w.replica(dying)
	w.queues()
	dying.noCreate.Store(true)
	a := w.world.booked(first, "1", w.from("wr", "192.0.2.0/26", 20))
	await.True(t, "its change set is named and not made", func() bool { return dying.refused.Load() > 1 })
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	second, third := w.replica(w.changes), w.replica(w.changes)
	w.world.is(second, a.GetId(), activeState)
	b := w.world.booked(third, "2", w.from("wr", "192.0.2.64/26", 10))
	w.world.is(second, b.GetId(), activeState)
	w.release(second, a.GetId())
	w.release(third, b.GetId())
	w.world.is(second, a.GetId(), released)
	w.world.is(third, b.GetId(), released)
	w.asBefore()
	// Of two replicas that see two ends at the same moment each may request one: the later one finds routers locked, is
	// sent to none, and is requested again.
	inForce := 0
	for _, cs := range w.asked() {
		switch s := cs.GetState(); s {
		case pushv1.State_STATE_VERIFIED:
			inForce++
		case pushv1.State_STATE_EMPTY:
		default:
			if slices.ContainsFunc(cs.GetDevices(), func(d *pushv1.DeviceChange) bool { return d.GetCommitId() != "" }) {
				t.Errorf("change set %s is %s: %v", cs.GetId(), s, cs.GetHistory())
			}
		}
	}
	if inForce < 3 || inForce > 4 {
		t.Errorf("%d change sets are in force for two starts and two ends, of which both ends may go together", inForce)
	}
}

// While services/push is away a circuit waits, and says that it is late.
func TestPushIsAway(t *testing.T) {
	t.Parallel()
	w := newLive(t)
	l := &line{ChangeServiceClient: w.changes}
	c := w.replica(l)
	w.queues()
	l.cut.Store(true)
	a := w.world.booked(c, "1", w.from("wr", "192.0.2.0/26", 20))
	w.world.is(c, a.GetId(), provisioning)
	await.True(t, "it is late", func() bool { return w.world.get(c, a.GetId()).GetLate() })
	await.True(t, "push was asked again and again", func() bool { return l.refused.Load() > 3 })
	if got := w.world.get(c, a.GetId()); got.GetState() != provisioning || got.GetReady() != nil {
		t.Errorf("while push is away it is %s", got.GetState())
	}
	l.cut.Store(false)
	w.world.is(c, a.GetId(), activeState)
	l.cut.Store(true)
	w.release(c, a.GetId())
	await.True(t, "push was asked again and again", func() bool { return l.refused.Load() > 8 })
	if got := w.world.get(c, a.GetId()); got.GetState() != releasing {
		t.Errorf("while push is away it is %s", got.GetState())
	}
	l.cut.Store(false)
	w.world.is(c, a.GetId(), released)
	w.asBefore()
	if got := w.asked(); len(got) != 2 {
		t.Errorf("%d change sets", len(got))
	}
}

// A router that refuses once is asked again; one that refuses three times ends the circuit, and nothing of it stays.
func TestAChangeSetIsRolledBack(t *testing.T) {
	t.Parallel()
	w := newLive(t)
	c := w.replica(w.changes)
	w.queues()
	w.routers["wr"].Inject(pushtest.RefuseCommit)
	a := w.world.booked(c, "1", w.from("wr", "192.0.2.0/26", 20))
	w.world.is(c, a.GetId(), activeState)
	if got := w.asked(); len(got) != 2 {
		t.Errorf("%d change sets where the first was refused", len(got))
	}
	w.release(c, a.GetId())
	w.world.is(c, a.GetId(), released)

	w.routers["wr"].Inject(pushtest.TunnelsDown)
	b := w.world.booked(c, "2", w.from("wr", "192.0.2.0/26", 20))
	w.world.is(c, b.GetId(), failedState)
	w.routers["wr"].Clear()
	history := w.world.get(c, b.GetId()).GetHistory()
	if note := history[len(history)-1].GetNote(); !strings.HasPrefix(note, "change set ") {
		t.Errorf("why it failed: %q", note)
	}
	w.asBefore()
}

// What a person rolls back by hand is followed: the circuit has failed, and one that was removed is removed again.
func TestARollbackByHand(t *testing.T) {
	t.Parallel()
	w := newLive(t)
	c := w.replica(w.changes)
	w.queues()
	back := func() {
		t.Helper()
		all := w.asked()
		id := all[len(all)-1].GetId()
		_, err := w.changes.Rollback(t.Context(), connect.NewRequest(&pushv1.RollbackRequest{Id: id, By: "noc"}))
		must(t, err)
	}
	a := w.world.booked(c, "1", w.from("wr", "192.0.2.0/26", 20))
	w.world.is(c, a.GetId(), activeState)
	w.release(c, a.GetId())
	w.world.is(c, a.GetId(), released)
	back()
	w.world.is(c, a.GetId(), releasing)
	all := w.asked()
	_, err := w.changes.Approve(t.Context(), connect.NewRequest(&pushv1.ApproveRequest{Id: awaitPlanned(w, all[len(all)-1].GetId()), By: "noc", Apply: true}))
	must(t, err)
	w.world.is(c, a.GetId(), released)

	b := w.world.booked(c, "2", w.from("wr", "192.0.2.0/26", 20))
	w.world.is(c, b.GetId(), activeState)
	back()
	w.world.is(c, b.GetId(), failedState)
	w.asBefore()
}

// awaitPlanned is the next change set of circuits after one, which waits for a person.
func awaitPlanned(w *live, after string) (id string) {
	w.t.Helper()
	await.True(w.t, "a change set waits for a person", func() bool {
		all := w.asked()
		if len(all) == 0 {
			return false
		}
		last := all[len(all)-1]
		id = last.GetId()
		return id != after && last.GetState() == pushv1.State_STATE_PLANNED
	})
	return id
}

// Where a person has to approve, a circuit that is given up meanwhile is over at once, and its change set is never
// applied.
func TestACircuitThatWaitsForAPersonIsGivenUp(t *testing.T) {
	t.Parallel()
	w := newLive(t, func(cfg *push.Configuration) { cfg.ApprovalForCircuits = push.Approval{Rule: "one"} })
	c := w.replica(w.changes)
	w.queues()
	a := w.world.booked(c, "1", w.from("wr", "192.0.2.0/26", 20))
	id := awaitPlanned(w, "")
	w.release(c, a.GetId())
	w.world.is(c, a.GetId(), released)
	_, err := w.changes.Approve(t.Context(), connect.NewRequest(&pushv1.ApproveRequest{Id: id, By: "noc", Apply: true}))
	if connect.CodeOf(err) != connect.CodeFailedPrecondition || !strings.Contains(err.Error(), "no longer in force") {
		t.Errorf("its change set is applied: %v", err)
	}
	w.asBefore()
}

// silent is a connection on which nothing is ever answered.
type silent struct {
	pushv1connect.ChangeServiceClient
}

func (silent) Get(ctx context.Context, _ *connect.Request[pushv1.GetRequest]) (*connect.Response[pushv1.GetResponse], error) {
	<-ctx.Done()
	return nil, connect.NewError(connect.CodeDeadlineExceeded, ctx.Err())
}

func (silent) InForce(ctx context.Context, _ *connect.Request[pushv1.InForceRequest]) (*connect.Response[pushv1.InForceResponse], error) {
	<-ctx.Done()
	return nil, connect.NewError(connect.CodeDeadlineExceeded, ctx.Err())
}

// A question that is never answered does not hold up what comes after it.
func TestASilentPushIsGivenUp(t *testing.T) {
	w := newWorld(t)
	p := newProvisioner(w.start())
	p.changes, p.patience = silent{}, time.Millisecond
	c := &carried{Circuit: provision.Circuit{ID: "c", Change: "circuit c, 1", ChangeAttempt: 1, Life: life.Circuit{State: life.Provisioning, Open: true, Attempt: 1}}, routers: []string{"a"}}
	if underWay, err := p.follow(t.Context(), []*carried{c}); !underWay || err == nil {
		t.Errorf("follow: %v, %v", underWay, err)
	}
	if got, err := p.shown(t.Context(), c); got != unproven || err == nil {
		t.Errorf("shown: %v, %v", got, err)
	}
}

// Without a policy nothing is requested, and with one there must be somebody to ask.
func TestProvisioningIsConfigured(t *testing.T) {
	cfg := DefaultConfiguration()
	cfg.Provision.Policy = policyOfCircuits
	if _, err := New(cfg, Dependencies{}); err == nil || !strings.Contains(err.Error(), "needs services/push") {
		t.Errorf("without services/push: %v", err)
	}
	if _, err := New(cfg, Dependencies{Changes: &line{}}); err == nil || !strings.Contains(err.Error(), "needs services/policy") {
		t.Errorf("without services/policy: %v", err)
	}
	for _, lead := range []time.Duration{-time.Second, 1500 * time.Millisecond, 2 * time.Hour} {
		cfg.Provision.Lead = lead
		if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "provision.lead") {
			t.Errorf("lead %s: %v", lead, err)
		}
	}
}

// A circuit between ports is put on both of its routers, and taken off both.
func TestACircuitBetweenPortsIsOnBothItsRouters(t *testing.T) {
	t.Parallel()
	w := newLive(t)
	c := w.replica(w.changes)
	w.queues()
	terms := w.from("wr", "192.0.2.0/26", 10)
	terms.Pairs = nil
	terms.FromPort, terms.ToPort = &circuitsv1.Port{Name: "ge-w1", Vlans: "100"}, &circuitsv1.Port{Name: "ge-e1", Vlans: "any"}
	a := w.world.booked(c, "1", terms)
	w.world.is(c, a.GetId(), activeState)
	for router, vlan := range map[string]string{"wr": `"te-circuit-ext:vlan-id": 100`, "er": `"te-circuit-ext:vlan-id": 1`} {
		body := w.routers[router].Entries()[configentry.Circuits.Path("te-circuit-"+a.GetId())]
		if !strings.Contains(body, vlan) || !strings.Contains(body, `"virtual-circuit-identifier": 1`) {
			t.Errorf("router %s has %s", router, body)
		}
	}
	w.release(c, a.GetId())
	w.world.is(c, a.GetId(), released)
	w.asBefore()
}
