package circuits

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/admit"
	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/circuits/ledger"
	"github.com/millrace/millrace/services/circuits/life"
)

// apartFrom are the circuits of a window that are to be apart from a circuit, by their own terms.
func (b *book) apartFrom(id string, w calendar.Window) (out []string) {
	for other, r := range b.records {
		c := r.GetCircuit()
		if _, in := b.admit.Grant(other); in && slices.Contains(c.GetTerms().GetApartFrom(), id) && hasIn(c.GetSlots(), w) {
			out = append(out, other)
		}
	}
	slices.Sort(out)
	return out
}

// awayFrom is a request that keeps away from the circuits that are to be apart from it as well, as far as a request may
// name so many.
func (b *book) awayFrom(r admit.Request, these []string) admit.Request {
	r.ApartFrom = slices.Clone(r.ApartFrom)
	for _, id := range these {
		for _, name := range []string{id, backID(id)} {
			if _, in := b.admit.Grant(name); in && len(r.ApartFrom) < admit.MaxNames && !slices.Contains(r.ApartFrom, name) {
				r.ApartFrom = append(r.ApartFrom, name)
			}
		}
	}
	return r
}

// keepingApart decides so that those that are to be apart from a circuit stay so, and without them where no path is
// left then: a circuit that is carried beside another one is better than one that is not.
func (b *book) keepingApart(r admit.Request, decide pathsDecider) (g, back *admit.Grant, no *admit.Refusal) {
	if these := b.apartFrom(r.ID, r.Window); len(these) > 0 {
		if g, back, no = decide(b.awayFrom(r, these)); no == nil {
			return g, back, nil
		}
	}
	return decide(r)
}

// notApart are the circuits that were apart from a circuit, as they are to be, and are not after it has moved. Their
// history says so. Those that it has displaced have a new record already.
func (b *book) notApart(was, is *circuitsv1.Record, others []displaced, now time.Time) (out []displaced) {
	c := is.GetCircuit()
	slots := grantOf(is).Slots
	w := calendar.Window{Start: now.Unix(), End: slots[len(slots)-1].End}
	for _, id := range b.apartFrom(c.GetId(), w) {
		one := b.records[id]
		changed := slices.ContainsFunc(others, func(d displaced) bool { return d.is.GetCircuit().GetId() == id })
		if changed || b.together(was.GetCircuit(), one.GetCircuit()) || !b.together(c, one.GetCircuit()) {
			continue
		}
		next := proto.CloneOf(one)
		next.Circuit.History = append(next.Circuit.History, &circuitsv1.Transition{
			State: one.GetCircuit().GetState(), Time: timestamppb.New(now), By: life.Self,
			Note: fmt.Sprintf("not apart any more from circuit %s, which moved to %s", c.GetId(), b.pathText(c.GetPath())),
		})
		out = append(out, displaced{was: one, is: ledger.With(next, ledger.LifeOf(next), now), stays: true})
	}
	return out
}

// together reports whether two circuits have links that fail together: the same one, its other direction, or two of one
// risk group.
func (b *book) together(x, y *circuitsv1.Circuit) bool {
	return slices.ContainsFunc(hops(x), func(h *circuitsv1.Hop) bool {
		return slices.ContainsFunc(hops(y), func(k *circuitsv1.Hop) bool { return b.failTogether(h.GetLink(), k.GetLink()) })
	})
}

func (b *book) failTogether(one, other string) bool {
	l, known := b.graph.LinkIndex(one)
	k, too := b.graph.LinkIndex(other)
	if one == other || !known || !too {
		return one == other
	}
	return b.graph.From(l) == b.graph.To(k) && b.graph.To(l) == b.graph.From(k) ||
		slices.ContainsFunc(b.graph.Risks(l), func(group uint32) bool { return slices.Contains(b.graph.Risks(k), group) })
}
