package ledger

import (
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/life"
)

// states in the order of the API's numbers, which begin at 1.
var states = life.States

// StateOf is the API's number of a state.
func StateOf(s life.State) circuitsv1.State { return circuitsv1.State(slices.Index(states, s) + 1) }

// NameOf is the state of a number of the API; empty for one that is none.
func NameOf(s circuitsv1.State) life.State {
	if s < 1 || int(s) > len(states) {
		return ""
	}
	return states[s-1]
}

// Books reports whether a circuit has its capacity. No circuit has none.
func Books(r *circuitsv1.Record) bool {
	s := NameOf(r.GetCircuit().GetState())
	return s != "" && s.Books()
}

// LifeOf is what life.Next takes of a record.
func LifeOf(r *circuitsv1.Record) life.Circuit {
	l := r.GetLife()
	c := life.Circuit{
		State: NameOf(r.GetCircuit().GetState()), Start: l.GetStart(), End: l.GetEnd(), Expires: l.GetExpires(), Extensions: int(l.GetExtensions()),
		Work: life.Work(l.GetWork()), Attempt: int(l.GetAttempt()), Open: l.GetOpen(), Gone: l.GetGone(), Doubt: l.GetDoubt(), Looks: int(l.GetLooks()),
		Before: int(l.GetBefore()), Deactivated: r.GetCircuit().GetDeactivated(),
		Verified: int(l.GetVerified()), Renewed: l.GetRenewed(), Undone: int(l.GetUndone()),
	}
	if carried := c.State == life.Active || c.State == life.Interrupted; carried && c.Verified == 0 && !c.Open {
		c.Verified = c.Attempt // written before this was kept
	}
	return c
}

// maxHistory is how many transitions a record keeps: a removal that is tried for days must not fill etcd.
const maxHistory = 50

// With is a copy of a record after life.Next.
func With(r *circuitsv1.Record, c life.Circuit, now time.Time) *circuitsv1.Record {
	out := proto.CloneOf(r)
	out.Circuit.State, out.Circuit.Deactivated = StateOf(c.State), c.Deactivated
	out.Circuit.Expires = nil
	if c.State == life.Held {
		out.Circuit.Expires = timestamppb.New(time.Unix(c.Expires, 0))
	}
	for _, m := range c.Moves {
		out.Circuit.History = append(out.Circuit.History, &circuitsv1.Transition{State: StateOf(m.To), Time: timestamppb.New(now), By: m.By, Note: m.Note})
	}
	out.Circuit.History = cut(out.Circuit.History)
	if out.Circuit.GetReady() == nil && c.State == life.Active {
		out.Circuit.Ready = timestamppb.New(now)
	}
	if !c.Gone {
		out.Circuit.NotRestored = nil
	}
	l := r.GetLife() // what is not of life.Circuit stays
	out.Life = &circuitsv1.Life{
		Start: c.Start, End: c.End, Expires: c.Expires, Extensions: int32(c.Extensions),
		Work: string(c.Work), Attempt: int32(c.Attempt), Open: c.Open, Gone: c.Gone, Doubt: c.Doubt, Looks: int32(c.Looks), Before: int32(c.Before),
		Change: l.GetChange(), ChangeAttempt: l.GetChangeAttempt(), Asked: l.GetAsked(), Tries: l.GetTries(), SettledTries: l.GetSettledTries(),
		Verified: int32(c.Verified), Renewed: c.Renewed, Undone: int32(c.Undone), HadBitsPerSecond: l.GetHadBitsPerSecond(),
		HadPath: l.GetHadPath(), HadBackup: l.GetHadBackup(), HadBack: l.GetHadBack(), HadWant: l.GetHadWant(),
	}
	if !c.Open {
		out.Life.SettledTries = l.GetTries()
	}
	return out
}

// cut is a history that is not too long: entries that are no transition go first, such as one of many activations, and
// then the oldest ones.
func cut(history []*circuitsv1.Transition) []*circuitsv1.Transition {
	for len(history) > maxHistory {
		oldest := 0
		for i := 1; i < len(history)-1; i++ {
			if history[i].GetState() == history[i-1].GetState() {
				oldest = i
				break
			}
		}
		history = slices.Delete(history, oldest, oldest+1)
	}
	return history
}
