package push

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// carry lets policies plan these circuits from now on.
func (p *plans) carry(ids ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.circuits = ids
}

// leave makes the list of circuits in force unavailable, or available again.
func (p *plans) leave(away bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = away
}

// endAfter ends all circuits after so many queries of the circuits in force.
func (p *plans) endAfter(asked int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = &asked
}

// Who waits for a circuit learns from its change set whether routers got it, and why not.
func TestAChangeSetNamesItsCircuits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plans.carry("c-1", "c-2")
	w.plans.refused = []*policyv1.RefusedCircuit{{Circuit: "c-3", Reason: "it names no traffic"}}
	must(t, w.command([]string{"create", "day-1"}), "planned")
	cs := w.get()
	if d := cmp.Diff(cs.GetCircuits(), []string{"c-1", "c-2"}); d != "" {
		t.Errorf("circuits (-got +want):\n%s", d)
	}
	if d := cmp.Diff(cs.GetRefusedCircuits(), w.plans.refused, protocmp.Transform()); d != "" {
		t.Errorf("refused circuits (-got +want):\n%s", d)
	}
	if text := strings.Join(cs.GetNotes(), "\n"); !strings.Contains(text, "circuit c-3 is refused: it names no traffic") {
		t.Errorf("notes:\n%s", text)
	}
}

// A circuit that is left out of the list would look as if routers did not have it.
func TestMoreCircuitsThanARecordHoldsAreNotPlanned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var many []string
	for i := range 20_000 {
		many = append(many, fmt.Sprintf("c-%012d", i))
	}
	w.plans.carry(many...)
	must(t, w.command([]string{"create", "day-1"}), "failed")
	if h := w.record().GetHistory(); !strings.Contains(h[len(h)-1].GetNote(), "it puts 20000 circuits on routers, more than a change set can name") {
		t.Errorf("history %v", h)
	}
}

// A change set that puts a circuit on routers and waits for a person is not applied once the circuit is
// over: neither when a newer plan is in force, nor when there is none.
func TestAStalePlanBringsNoCircuitBack(t *testing.T) {
	for name, over := range map[string]func(w *world){
		"a newer plan is in force": func(w *world) {
			w.plans.set("heavier")
			must(t, w.command([]string{"create", "day-2"}), "planned")
			must(t, w.command([]string{"approve", "apply"}), "")
			must(t, w.command([]string{"await", "verified"}), "verified")
		},
		"a newer plan had nothing to do": func(w *world) {
			w.plans.set("none")
			must(t, w.command([]string{"create", "day-2"}), "empty")
		},
		"the circuit ended": func(w *world) { w.plans.carry() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plans.carry("c-1")
			must(t, w.command([]string{"create", "day-1"}), "planned")
			must(t, w.command([]string{"approve"}), "")
			w.passed.Add(int64(time.Second))
			over(w)
			must(t, w.command([]string{"use", "day-1"}), "")
			before := w.held()
			if got := w.command([]string{"apply"}); !strings.HasPrefix(got, "failed_precondition: change set ") {
				t.Errorf("apply: %q", got)
			}
			must(t, w.command([]string{"show"}), "failed")
			if after := w.held(); after != before {
				t.Errorf("routers held %s, and hold %s", before, after)
			}
		})
	}
}

// While it is unknown whether a circuit is in force, its change set is neither applied nor ended.
func TestAPlanWaitsWhileItsCircuitsAreNotKnown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plans.carry("c-1")
	must(t, w.command([]string{"create", "day-1"}), "planned")
	must(t, w.command([]string{"approve"}), "")
	w.plans.leave(true)
	if got := w.command([]string{"apply"}); !strings.Contains(got, "it is unknown whether its circuits are in force") {
		t.Errorf("apply: %q", got)
	}
	must(t, w.command([]string{"show"}), "approved")
	w.plans.leave(false)
	must(t, w.command([]string{"apply"}), "")
	must(t, w.command([]string{"await", "verified"}), "verified")
}

// A run that began in time stops under its locks if a circuit of its plan ended meanwhile.
func TestARunStopsBeforeItsFirstCommitIfACircuitEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plans.carry("c-1")
	must(t, w.command([]string{"create", "day-1"}), "planned")
	must(t, w.command([]string{"approve"}), "")
	w.plans.endAfter(1)
	before := w.held()
	must(t, w.command([]string{"apply"}), "")
	must(t, w.command([]string{"await", "failed"}), "failed")
	if h := w.record().GetHistory(); !strings.Contains(h[len(h)-1].GetNote(), "circuit c-1 of its plan is no longer in force") {
		t.Errorf("history %v", h)
	}
	if after := w.held(); after != before {
		t.Errorf("routers held %s, and hold %s", before, after)
	}
}

// Which change sets make the plan of another one outdated.
func TestSupersedes(t *testing.T) {
	at := func(n int64) *timestamppb.Timestamp { return &timestamppb.Timestamp{Seconds: n} }
	applied := func(cs *pushv1.ChangeSet, n int64, routers ...string) *pushv1.ChangeSet {
		cs.History = []*pushv1.Transition{{State: pushv1.State_STATE_APPLYING, Time: at(n)}}
		for _, r := range routers {
			cs.Devices = append(cs.Devices, &pushv1.DeviceChange{Device: r})
		}
		return cs
	}
	of := func(id, policy string, state pushv1.State, created int64, repairs ...string) *pushv1.ChangeSet {
		return &pushv1.ChangeSet{Id: id, Policy: policy, State: state, Created: at(created), Repairs: repairs}
	}
	const verified, empty = pushv1.State_STATE_VERIFIED, pushv1.State_STATE_EMPTY
	plan := of("m", "p", pushv1.State_STATE_APPROVED, 10)
	repair := applied(of("m", "p", pushv1.State_STATE_APPROVED, 10, "wr"), 0, "wr")
	repair.History = []*pushv1.Transition{{State: pushv1.State_STATE_DRAFT, Time: at(10)}}
	for name, c := range map[string]struct {
		other, m *pushv1.ChangeSet
		want     bool
	}{
		"newer and verified":     {of("o", "p", verified, 11), plan, true},
		"newer and empty":        {of("o", "p", empty, 11), plan, true},
		"itself":                 {of("m", "p", verified, 11), plan, false},
		"of the same moment":     {of("o", "p", verified, 10), plan, false},
		"older, applied later":   {applied(of("o", "p", verified, 9), 20), plan, false},
		"of another policy":      {of("o", "q", verified, 11), plan, false},
		"newer and only planned": {of("o", "p", pushv1.State_STATE_PLANNED, 11), plan, false},
		"newer and rolled back":  {of("o", "p", pushv1.State_STATE_ROLLED_BACK, 11), plan, false},
		"a repair":               {of("o", "p", verified, 11, "wr"), plan, false},
		"applied to the router since it was repaired": {applied(of("o", "p", verified, 9), 20, "wr"), repair, true},
		"applied to the router before":                {applied(of("o", "p", verified, 9), 9, "wr"), repair, false},
		"applied to another router":                   {applied(of("o", "p", verified, 9), 20, "er"), repair, false},
		"empty after a repair was planned":            {of("o", "p", empty, 11), repair, false},
	} {
		if got := supersedes(c.other, c.m); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}
