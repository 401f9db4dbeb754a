package circuits

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/admit"
	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/circuits/ledger"
	"github.com/millrace/millrace/services/circuits/life"
)

// pathOf is what terms want of the path.
func pathOf(t *circuitsv1.Terms) *circuitsv1.PathTerms {
	out := &circuitsv1.PathTerms{}
	copyPath(out, t)
	return out
}

// pathFields are what both messages have under the same names.
var pathFields = (&circuitsv1.PathTerms{}).ProtoReflect().Descriptor().Fields()

// copyPath makes every field of a path in one message that of the other one.
func copyPath(to, from proto.Message) {
	is, has := to.ProtoReflect(), proto.Clone(from).ProtoReflect()
	for i := range pathFields.Len() {
		name := pathFields.Get(i).Name()
		into, of := is.Descriptor().Fields().ByName(name), has.Descriptor().Fields().ByName(name)
		is.Clear(into)
		if has.Has(of) {
			is.Set(into, has.Get(of))
		}
	}
}

// otherPath reports whether terms want another path than a circuit's.
func otherPath(c *circuitsv1.Circuit, terms *circuitsv1.Terms) bool {
	return !proto.Equal(pathOf(c.GetTerms()), pathOf(terms))
}

// ofPath names the field of a path that is wrong as the request has it.
func ofPath(ask *circuitsv1.ModifyRequest, err error) error {
	var no refused
	if ask.GetPath() == nil || !errors.As(err, &no) || no.GetCode() != string(admit.BadRequest) {
		return err
	}
	if pathFields.ByTextName(no.GetField()) == nil {
		return err
	}
	out := proto.CloneOf(no.Refusal)
	out.Field, out.Reason = "path."+no.GetField(), "path."+no.GetReason()
	return refused{out}
}

// mayMove reports whether the path of a circuit may be another one, beside what mayModify looks at.
func mayMove(was *circuitsv1.Record, terms *circuitsv1.Terms, started bool) error {
	c := was.GetCircuit()
	state := ledger.NameOf(c.GetState())
	switch {
	case !otherPath(c, terms):
		return nil
	case mayBeOnRouters(state) && (state != life.Active || was.GetLife().GetOpen() || was.GetLife().GetGone()):
		return fmt.Errorf("circuit %s: %w: it is %s, and a change set of it is on its way or its path is gone; its path may be changed once it is active", c.GetId(), errTransition, state)
	case (started || mayBeOnRouters(state)) && (otherRate(c, terms) || !proto.Equal(terms.GetEnd(), c.GetTerms().GetEnd())):
		return wrong("path", "the path of a circuit that has begun is changed by itself, before or after its rate and its end")
	}
	return nil
}

// anew decides on the path of a circuit with other terms, as if what is left of it were requested now.
func (b *book) anew(was *circuitsv1.Record, terms *circuitsv1.Terms, w calendar.Window, now time.Time) (forth, back *admit.Grant, err error) {
	from := proto.CloneOf(terms)
	from.Start = moment(max(terms.GetStart().GetSeconds(), now.Unix()))
	r, err := b.request(was.GetCircuit().GetId(), from, now)
	if err != nil {
		return nil, nil, err
	}
	forth, back, refusal := b.instead(b.admit.Decide, was, r)
	if refusal != nil {
		return nil, nil, b.refusal(refusal, terms, r)
	}
	if terms.GetVolumeBytes() == 0 {
		forth.Slots = admit.Resized(grantOf(was).Slots, w, terms.GetRateBitsPerSecond()) // what was before now stays
	}
	return forth, back, nil
}

// given is what a record says of a circuit that routers are to be given anew. An active one has the earlier path booked
// as well until they have the other one, and stays active meanwhile.
func given(was, is *circuitsv1.Record, by string) life.Circuit {
	l, c := ledger.LifeOf(was), was.GetCircuit()
	if l.State != life.Active {
		return l
	}
	switch had := c.GetTerms().GetRateBitsPerSecond(); {
	case otherRate(c, is.GetCircuit().GetTerms()):
		l, _ = life.Next(l, life.Event{Kind: life.Updated, By: by})
		is.Life.HadBitsPerSecond = had
		if had > is.GetCircuit().GetTerms().GetRateBitsPerSecond() {
			is.Circuit.Slots = c.GetSlots() // until routers have the lower one
		}
	case !slices.EqualFunc(hops(c), hops(is.GetCircuit()), func(a, b *circuitsv1.Hop) bool { return a.GetLink() == b.GetLink() }):
		l, _ = life.Next(l, life.Event{Kind: life.Updated, By: by})
		is.Life.HadPath, is.Life.HadBackup, is.Life.HadBack, is.Life.HadWant = c.GetPath(), c.GetBackup(), c.GetBack(), pathOf(c.GetTerms())
	}
	return l
}
