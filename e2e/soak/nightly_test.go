package soak

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/e2e/plane"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// nightlyRun brings a new alpha flow, makes the run, and approves what it requests. One that fails is repaired by
// the next.
func (w *world) nightlyRun(ctx context.Context, n int) {
	w.nightlyRuns.Add(1)
	w.sendAlpha(ctx, n)
	w.diary.try(ctx, aNightlyRun, func(ctx context.Context) error {
		_, err := w.nightly(ctx)
		return err
	})
	w.settle(ctx)
}

func (w *world) nightly(ctx context.Context) (*alphav1.NightlyResponse, error) {
	r, err := w.alpha.Nightly(ctx, connect.NewRequest(&alphav1.NightlyRequest{}))
	if err != nil {
		return nil, err
	}
	if refused := r.Msg.GetRefused(); len(refused) > 0 {
		return nil, fmt.Errorf("exporter %s: %s", refused[0].GetExporter(), refused[0].GetReason())
	}
	return r.Msg, nil
}

// few is how many of the newest change sets are looked at: those that can move.
const few = 20

func (w *world) list(ctx context.Context, limit uint32) ([]*pushv1.ChangeSet, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := w.changes.List(ctx, connect.NewRequest(&pushv1.ListRequest{Limit: limit}))
	if err != nil {
		return nil, err
	}
	return r.Msg.GetChanges(), nil
}

// settle approves what waits for a person, until nothing moves any more, and then looks whether the records are true.
func (w *world) settle(ctx context.Context) {
	var all []*pushv1.ChangeSet
	ended := until(ctx, func() bool {
		var err error
		if all, err = w.list(ctx, few); err != nil {
			return false
		}
		moving := false
		for _, cs := range all {
			switch cs.GetState() { // the next list shows whether it was
			case pushv1.State_STATE_PLANNED:
				_ = w.approve(ctx, cs.GetId())
			case pushv1.State_STATE_APPROVED:
				_ = w.apply(ctx, cs.GetId())
			}
			moving = moving || !plane.Ended(cs)
		}
		return !moving
	})
	if ended {
		w.look(ctx, all)
	}
}

func (w *world) approve(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := w.changes.Approve(ctx, connect.NewRequest(&pushv1.ApproveRequest{Id: id, By: "operator", Apply: true}))
	return err
}

// apply is for what was approved while something that it takes was away.
func (w *world) apply(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := w.changes.Apply(ctx, connect.NewRequest(&pushv1.ApplyRequest{Id: id, By: "operator"}))
	return err
}

// look writes newly ended change sets into the book and holds the routers against it.
func (w *world) look(ctx context.Context, all []*pushv1.ChangeSet) {
	for _, cs := range w.book.Enter(all) {
		if cs.GetNightly() {
			h := cs.GetHistory()
			w.diary.note(aChangeSet, cs.GetCreated().AsTime(), h[len(h)-1].GetTime().AsTime(), failure(cs))
		}
	}
	for name, r := range w.Routers {
		if until(ctx, func() bool { return !r.Pending() }) {
			w.book.Hold(name, r.Entries())
		}
	}
}

// failure is why a change set did not do what it was made for.
func failure(cs *pushv1.ChangeSet) error {
	if cs.GetState() == pushv1.State_STATE_VERIFIED || cs.GetState() == pushv1.State_STATE_EMPTY {
		return nil
	}
	var notes []string
	for _, h := range cs.GetHistory() {
		if h.GetNote() != "" {
			notes = append(notes, h.GetNote())
		}
	}
	return errors.New(plane.Word(cs.GetState()) + ": " + strings.Join(notes[max(0, len(notes)-2):], "; "))
}
