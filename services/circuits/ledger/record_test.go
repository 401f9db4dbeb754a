package ledger_test

import (
	"testing"
	"time"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/ledger"
	"github.com/millrace/millrace/services/circuits/life"
)

// Entries that are no transition do not push transitions out of a history.
func TestAHistoryKeepsTransitions(t *testing.T) {
	now := time.Unix(1000, 0)
	r := &circuitsv1.Record{Circuit: &circuitsv1.Circuit{}, Life: &circuitsv1.Life{}}
	move := func(to life.State, note string) {
		r = ledger.With(r, life.Circuit{State: to, Moves: []life.Move{{To: to, By: "ann", Note: note}}}, now)
		now = now.Add(time.Second)
	}
	move(life.Committed, "first")
	move(life.Scheduled, "")
	for range 100 {
		move(life.Scheduled, "activated")
	}
	h := r.GetCircuit().GetHistory()
	if len(h) != 50 || h[0].GetNote() != "first" || ledger.NameOf(h[1].GetState()) != life.Scheduled || h[1].GetTime().GetSeconds() != 1001 || h[49].GetTime().GetSeconds() != 1101 {
		t.Errorf("%d entries: %v, %v to %v", len(h), h[0], h[1], h[len(h)-1])
	}
	for range 40 {
		move(life.Active, "")
		move(life.Interrupted, "")
	}
	h = r.GetCircuit().GetHistory()
	if len(h) != 50 || h[0].GetTime().GetSeconds() != now.Unix()-50 {
		t.Errorf("the last 50 transitions: %d, from %v on", len(h), h[0])
	}
}

// How many change sets were requested counts on as long as one is wanted, and waits begin anew after that.
func TestTriesAreSettled(t *testing.T) {
	r := &circuitsv1.Record{Circuit: &circuitsv1.Circuit{}, Life: &circuitsv1.Life{}}
	for _, step := range []struct {
		open           bool
		tries, settled int32
	}{{false, 0, 0}, {true, 1, 0}, {true, 2, 0}, {false, 3, 3}, {true, 3, 3}, {true, 4, 3}} {
		r.Life.Tries = step.tries
		if r = ledger.With(r, life.Circuit{State: life.Active, Open: step.open}, time.Unix(1000, 0)); r.GetLife().GetSettledTries() != step.settled {
			t.Errorf("%+v: %d", step, r.GetLife().GetSettledTries())
		}
	}
}
