package circuits

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/internal/testkit/await"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/policy"
	"github.com/millrace/millrace/services/push/pushtest"
)

// A plan that is made while the link of a circuit that waits for it is gone is without it. Once the link is back the
// circuit requests another one, and is reported active when routers were read.
func TestALinkIsGoneAndBack(t *testing.T) {
	t.Parallel()
	w := newLive(t)
	c := w.replica(w.changes)
	w.queues()
	waits := w.from("wr", "192.0.2.0/26", 20)
	waits.OnFailure = circuitsv1.OnFailure_ON_FAILURE_HOLD
	a := w.world.booked(c, "1", waits)
	w.world.is(c, a.GetId(), activeState)
	b := w.world.booked(c, "2", w.from("cr", "192.0.2.64/26", 10))
	w.world.is(c, b.GetId(), activeState)
	path := w.world.get(c, a.GetId()).GetPath()
	if len(path) != 1 || slices.ContainsFunc(w.world.get(c, b.GetId()).GetPath(), func(h *circuitsv1.Hop) bool { return h.GetLink() == path[0].GetLink() }) {
		t.Fatalf("paths %v", path)
	}
	w.without("wr", "er")
	w.world.is(c, a.GetId(), interrupted)
	w.release(c, b.GetId())
	w.world.is(c, b.GetId(), released)
	if w.holds("wr", a.GetId()) {
		t.Error("the plan of the second circuit's end has the first one's LSP over a link that is gone")
	}
	w.without("", "")
	w.world.is(c, a.GetId(), activeState)
	if !w.holds("wr", a.GetId()) {
		t.Error("it is told active, and its ingress has no LSP")
	}
	w.release(c, a.GetId())
	w.world.is(c, a.GetId(), released)
	w.asBefore()
}

// A plan that leaves an active circuit out, since the policy keeps less for circuits now, takes it off routers. It is
// requested anew three times, and then given up: it says why, and asks no more. So is one whose own change set is no
// longer kept.
func TestACircuitThatPlansLeaveOutIsGivenUp(t *testing.T) {
	for name, kept := range map[string]bool{"its change set is kept": true, "its change set is no longer kept": false} {
		t.Run(name, func(t *testing.T) { leftOut(t, kept) })
	}
}

func leftOut(t *testing.T, kept bool) {
	t.Parallel()
	dir := t.TempDir()
	keeps := func(weight int) {
		policyFile(t, dir, fmt.Sprintf(queuesOf+ruleOf, policyOfCircuits, 100-weight, weight))
	}
	keeps(80)
	of := policy.DefaultConfiguration()
	of.Dir = dir
	w := newLiveUnder(t, of)
	c := w.replica(w.changes)
	w.queues()
	var all []string
	for i, mbit := range []int64{20, 20, 5} {
		terms := w.from("wr", fmt.Sprintf("192.0.2.%d/26", 64*i), mbit)
		terms.MaxHops = 1
		got := w.world.booked(c, fmt.Sprint(i), terms)
		w.world.is(c, got.GetId(), activeState)
		all = append(all, got.GetId())
	}
	want := 7 // those that gave routers the three, three that leave the second one out, and the one that rids them of it
	if !kept {
		w.forgets(w.asked()[1].GetId())
		want--
	}
	keeps(30)
	w.applied("less")
	w.world.is(c, all[1], released)
	var notes []string
	for _, h := range w.world.get(c, all[1]).GetHistory() {
		notes = append(notes, h.GetState().String()+": "+h.GetNote())
	}
	if i := slices.IndexFunc(notes, func(n string) bool { return strings.HasPrefix(n, "STATE_RELEASING: ") }); !strings.Contains(notes[i], "leaves it out") {
		t.Errorf("its history is %q", notes)
	}
	for _, id := range []string{all[0], all[2]} {
		if is := w.world.get(c, id); is.GetState() != activeState {
			t.Errorf("one that has room is %s", is.GetState())
		}
	}
	if n := len(w.asked()); n != want {
		t.Errorf("%d change sets, want %d", n, want)
	}
}

// forgets deletes the record of a change set, as services/push does when there are many others.
func (w *live) forgets(id string) {
	w.t.Helper()
	key := "changes/" + id
	revision, err := w.world.store.Get(w.t.Context(), key, &pushv1.ChangeSet{})
	must(w.t, err)
	_, err = w.world.store.Commit(w.t.Context(), []state.Guard{{Key: key, Revision: revision}}, state.Op{Key: key})
	must(w.t, err)
}

// Active circuits whose link is gone are given to routers on another path, and stay
// there when the link is back, and nothing of them stays at their end. One that has no other path waits for room.
func TestCircuitsAreReroutedTogether(t *testing.T) {
	t.Parallel()
	w := newLive(t)
	w.world.cfg.Restore.After = time.Second
	c := w.replica(w.changes)
	w.queues()
	a := w.world.booked(c, "1", w.from("wr", "192.0.2.0/26", 20))
	b := w.world.booked(c, "2", w.from("wr", "192.0.2.64/26", 15))
	big := w.world.booked(c, "3", w.from("cr", "192.0.2.128/26", 30))
	for _, one := range []*circuitsv1.Circuit{a, b, big} {
		w.world.is(c, one.GetId(), activeState)
	}
	sets := len(w.asked())
	w.without("wr", "er")
	moved := func(one *circuitsv1.Circuit) bool {
		is := w.world.get(c, one.GetId())
		return is.GetState() == activeState && len(is.GetPath()) > 1
	}
	await.True(t, "the first one is active on another path", func() bool { return moved(a) })
	await.True(t, "the second one says that there is no room", func() bool { return w.world.get(c, b.GetId()).GetNotRestored() != nil })
	if is := w.world.get(c, b.GetId()); is.GetState() != interrupted {
		t.Errorf("the second one is %s", is.GetState())
	}
	if is := w.world.get(c, a.GetId()); is.GetReady().AsTime().After(is.GetHistory()[len(is.GetHistory())-2].GetTime().AsTime()) {
		t.Errorf("it was ready at %s, and moved before that: %v", is.GetReady().AsTime(), is.GetHistory())
	}
	w.release(c, big.GetId())
	await.True(t, "there is room for the second one", func() bool { return moved(b) })
	w.without("", "")
	other := w.world.booked(c, "4", w.from("wr", "192.0.2.192/26", 5))
	w.world.is(c, other.GetId(), activeState)
	for _, one := range []*circuitsv1.Circuit{a, b} {
		if !moved(one) || !w.holds("wr", one.GetId()) {
			t.Errorf("when the link is back it is %v", w.world.get(c, one.GetId()))
		}
	}
	for _, cs := range w.asked()[sets:] {
		if s := cs.GetState(); s != pushv1.State_STATE_VERIFIED && s != pushv1.State_STATE_EMPTY {
			t.Errorf("change set %s is %s: %v", cs.GetId(), s, cs.GetHistory())
		}
	}
	for _, one := range []*circuitsv1.Circuit{a, b, other} {
		w.release(c, one.GetId())
		w.world.is(c, one.GetId(), released)
	}
	w.asBefore()
}

// rates are those of a circuit: what it requests, and what is booked now.
func rates(c *circuitsv1.Circuit) [2]int64 {
	return [2]int64{c.GetTerms().GetRateBitsPerSecond() / mega, c.GetSlots()[len(c.GetSlots())-1].GetRateBitsPerSecond() / mega}
}

// The rate of a circuit that is active is changed by a change set, and until routers have it the higher rate is booked.
func TestTheRateOfAnActiveCircuitIsChanged(t *testing.T) {
	t.Parallel()
	w := newLive(t)
	l := &line{ChangeServiceClient: w.changes}
	c := w.replica(l)
	w.queues()
	a := w.world.booked(c, "1", w.from("wr", "192.0.2.0/26", 20))
	w.world.is(c, a.GetId(), activeState)
	for _, step := range []struct{ to, meanwhile int64 }{{10, 20}, {30, 30}} {
		l.noCreate.Store(true)
		was := w.routers["wr"].Entries()
		got := w.world.modified(c, &circuitsv1.ModifyRequest{Id: a.GetId(), Version: w.world.get(c, a.GetId()).GetVersion(), RateBitsPerSecond: step.to * mega})
		if rates(got) != [2]int64{step.to, step.meanwhile} || got.GetState() != activeState {
			t.Errorf("to %d: %v, %s", step.to, rates(got), got.GetState())
		}
		ask := &circuitsv1.ModifyRequest{Id: a.GetId(), Version: got.GetVersion(), RateBitsPerSecond: mega}
		if _, err := w.world.modify(c, ask); connect.CodeOf(err) != connect.CodeFailedPrecondition && connect.CodeOf(err) != connect.CodeAborted {
			t.Errorf("a change during another one: %v", err)
		}
		l.noCreate.Store(false)
		await.True(t, "routers have it", func() bool {
			return w.world.get(c, a.GetId()).GetHistory()[len(w.world.get(c, a.GetId()).GetHistory())-1].GetNote() == "routers have the rate"
		})
		if got := w.world.get(c, a.GetId()); rates(got) != [2]int64{step.to, step.to} || got.GetState() != activeState {
			t.Errorf("at %d: %v, %s", step.to, rates(got), got.GetState())
		}
		if maps.Equal(was, w.routers["wr"].Entries()) {
			t.Errorf("the ingress holds the same at %d", step.to)
		}
	}
	w.routers["wr"].Inject(pushtest.RefuseCommit)
	w.world.modified(c, &circuitsv1.ModifyRequest{Id: a.GetId(), Version: w.world.get(c, a.GetId()).GetVersion(), RateBitsPerSecond: 40 * mega})
	await.True(t, "it has its rate of before again", func() bool {
		w.routers["wr"].Inject(pushtest.RefuseCommit) // each of them
		return rates(w.world.get(c, a.GetId())) == [2]int64{30, 30}
	})
	w.routers["wr"].Clear()
	if got := w.world.get(c, a.GetId()); got.GetState() != activeState {
		t.Errorf("it is %s: %v", got.GetState(), got.GetHistory())
	}
	w.release(c, a.GetId())
	w.world.is(c, a.GetId(), released)
	w.asBefore()
}
