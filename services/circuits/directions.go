package circuits

import (
	"errors"
	"slices"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/admit"
)

// backID is the name of a circuit's return path in the book of admit.
func backID(id string) string { return id + "/back" }

// backOf is the part of a record that is in the book of admit for the return path.
func backOf(r *circuitsv1.Record) (g admit.Grant, has bool) {
	g = grantOf(r)
	g.ID, g.Path, g.Backup = backID(g.ID), nil, nil
	for _, h := range r.GetCircuit().GetBack() {
		g.Path = append(g.Path, h.GetLink())
	}
	return g, len(g.Path) > 0
}

// enter books what a record has, whether it is free now or not.
func (b *book) enter(in *admit.Book, r *circuitsv1.Record) error {
	err := in.Restore(grantOf(r))
	if back, has := backOf(r); err == nil && has {
		err = in.Restore(back)
	}
	if had, has := hadOf(r); err == nil && has {
		err = in.Restore(had)
	}
	return err
}

// free removes what a record has.
func (b *book) free(r *circuitsv1.Record) error {
	err := b.admit.Remove(r.GetCircuit().GetId())
	if back, has := backOf(r); has {
		err = errors.Join(err, b.admit.Remove(back.ID))
	}
	if had, has := hadOf(r); has {
		err = errors.Join(err, b.admit.Remove(had.ID))
	}
	return err
}

// paths decides on a request, and between ports on the return path beside it.
func (b *book) paths(r admit.Request, both bool) (forth, back *admit.Grant, refusal *admit.Refusal) {
	return b.pathsBy(b.admit.Decide, r, both)
}

// decider is one of the decisions of admit.
type decider func(admit.Request) (*admit.Grant, *admit.Refusal)

func (b *book) pathsBy(decide decider, r admit.Request, both bool) (forth, back *admit.Grant, refusal *admit.Refusal) {
	if forth, refusal = decide(r); refusal != nil || !both {
		return forth, nil, refusal
	}
	b.mustEnter(*forth)
	defer b.mustRemove(forth.ID)
	back, refusal = decide(returnRequest(r))
	return forth, back, refusal
}

// returnRequest is the request for the return path.
func returnRequest(r admit.Request) admit.Request {
	r.ID, r.From, r.To = backID(r.ID), r.To, r.From
	r.Via = slices.Clone(r.Via)
	slices.Reverse(r.Via)
	return r
}

// backHops are those of a return path, none where there is none.
func (b *book) backHops(back *admit.Grant) []*circuitsv1.Hop {
	if back == nil {
		return nil
	}
	return b.hopsOf(back.Path)
}

// instead decides on a request that replaces what a record has, which counts as free.
func (b *book) instead(decide decider, was *circuitsv1.Record, r admit.Request) (forth, back *admit.Grant, refusal *admit.Refusal) {
	b.mustFree(was)
	defer b.mustBook(was)
	return b.pathsBy(decide, r, between(was.GetCircuit().GetTerms()))
}
