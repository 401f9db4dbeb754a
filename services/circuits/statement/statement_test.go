package statement_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/ledger"
	"github.com/millrace/millrace/services/circuits/life"
	"github.com/millrace/millrace/services/circuits/statement"
)

func at(second int64) *timestamppb.Timestamp { return timestamppb.New(time.Unix(second, 0)) }

// slow asks of each second of the window which state the circuit was in, and what it had.
func slow(c *circuitsv1.Circuit, from, to int64) (out statement.Line) {
	over := false
	for second := int64(0); second < to; second++ {
		state := life.State("")
		for _, h := range c.GetHistory() {
			if h.GetTime().GetSeconds() <= second {
				state = ledger.NameOf(h.GetState())
				over = over || !state.Books()
			}
		}
		if second < from {
			continue
		}
		switch state {
		case life.Active:
			out.Active++
		case life.Interrupted:
			out.Interrupted++
		}
		for i, s := range c.GetSlots() {
			if start := s.GetStart().GetSeconds(); !over && start <= second && (s.GetEnd() == nil || second < s.GetEnd().GetSeconds()) {
				out.Bits += float64(s.GetRateBitsPerSecond())
			}
			if i == 0 && c.GetLate() && max(s.GetStart().GetSeconds(), c.GetTerms().GetStart().GetSeconds()) == second {
				out.LateStarts = 1
			}
		}
	}
	if h := c.GetHistory(); len(h) > 0 {
		out.Incomplete = h[0].GetTime().GetSeconds() > c.GetCreated().GetSeconds() && h[0].GetTime().GetSeconds() > from
	}
	return out
}

// random is a circuit with any history whose times do not go back: more than services/circuits/life allows.
func random(r *rand.Rand) *circuitsv1.Circuit {
	c := &circuitsv1.Circuit{Created: at(r.Int64N(10)), Late: r.IntN(2) == 0}
	when := c.GetCreated().GetSeconds()
	if r.IntN(5) == 0 {
		when += r.Int64N(20) // the first transitions are gone
	}
	for range 1 + r.IntN(8) {
		state := life.States[r.IntN(len(life.States))]
		c.History = append(c.History, &circuitsv1.Transition{State: ledger.StateOf(state), Time: at(when)})
		when += r.Int64N(12)
	}
	start := r.Int64N(40)
	for range 1 + r.IntN(3) {
		s := &circuitsv1.Slot{Start: at(start), RateBitsPerSecond: 1 + r.Int64N(1000)}
		start += 1 + r.Int64N(20)
		s.End = at(start)
		start += r.Int64N(5)
		c.Slots = append(c.Slots, s)
	}
	if r.IntN(4) == 0 {
		c.Slots[len(c.GetSlots())-1].End = nil
	}
	if len(c.GetSlots()) > 0 && r.IntN(2) == 0 { // its first slot begins before it does
		c.Terms = &circuitsv1.Terms{Start: at(c.GetSlots()[0].GetStart().GetSeconds() + r.Int64N(5))}
	}
	return c
}

// TestAStatementIsWhatEachSecondWas compares with the slow way, and windows beside each other with the one around them.
func TestAStatementIsWhatEachSecondWas(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	said := statement.Line{}
	for range 5000 {
		c := random(r)
		from := r.Int64N(60)
		to := from + r.Int64N(60)
		got, want := statement.Of(c, from, to), slow(c, from, to)
		if got != want {
			t.Fatalf("from %d to %d: %+v, each second says %+v\n%v", from, to, got, want, c)
		}
		middle := from + r.Int64N(to-from+1)
		parts := statement.Of(c, from, middle).Add(statement.Of(c, middle, to))
		if parts.Incomplete = got.Incomplete; parts != got {
			t.Fatalf("%d to %d to %d: the parts add up to %+v, the whole is %+v\n%v", from, middle, to, parts, got, c)
		}
		said = said.Add(got)
	}
	if said.Bits == 0 || said.Active == 0 || said.Interrupted == 0 || said.LateStarts == 0 || !said.Incomplete {
		t.Errorf("the histories had no %+v", said)
	}
}

func TestGbitHoursAreThoseOfQuotas(t *testing.T) {
	c := &circuitsv1.Circuit{Slots: []*circuitsv1.Slot{{Start: at(0), End: at(7200), RateBitsPerSecond: 5e9}}}
	if got := statement.Of(c, 0, 1e6).GbitHours(); math.Abs(got-10) > 1e-9 {
		t.Errorf("5 Gbit/s over 2 h are %g Gbit/s · h", got)
	}
	if (statement.Line{}).Had() || !statement.Of(c, 7199, 7200).Had() || statement.Of(c, 7200, 7300).Had() {
		t.Error("a circuit has its last second, and nothing after it")
	}
}
