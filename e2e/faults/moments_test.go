package faults

import (
	"testing"

	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/pushtest"
)

// moment is a point in the life of a change set.
type moment struct {
	name string
	// reach brings a change set there; release lets it go on.
	reach func(t *testing.T, w *world) (id string, release func())
	// after is what a person does once the fault is over.
	after func(t *testing.T, w *world, id string)
}

var moments = []moment{
	{"planned", func(t *testing.T, w *world) (string, func()) { return w.create(t), func() {} }, approveAndApply},
	at(pushtest.BeforeCommit, nil),
	at(pushtest.AfterCommit, nil),
	at(pushtest.Verifying, nil),
	at(pushtest.BeforeConfirm, nil),
	at(pushtest.AfterConfirm, nil),
	at(pushtest.BeforeCancel, func(w *world) { w.Routers["ER"].Inject(pushtest.RefuseCommit) }),
	{"verified", func(t *testing.T, w *world) (string, func()) { return w.verified(t), func() {} }, rollBack},
	{"rolling back", func(t *testing.T, w *world) (string, func()) {
		id := w.verified(t)
		hold := w.Routers["WR"].HoldAt(t, pushtest.BeforeCommit)
		rollBack(t, w, id)
		w.reached(t, hold, id)
		return id, hold.Release
	}, nil},
}

// at is a moment at which one router of two is held; provoke makes a change set get there.
func at(m pushtest.Moment, provoke func(*world)) moment {
	return moment{name: string(m), reach: func(t *testing.T, w *world) (string, func()) {
		if provoke != nil {
			provoke(w)
		}
		hold := w.Routers["WR"].HoldAt(t, m)
		id := w.create(t)
		approveAndApply(t, w, id)
		w.reached(t, hold, id)
		return id, hold.Release
	}}
}

func approveAndApply(t *testing.T, w *world, id string) {
	t.Helper()
	call(t, "approve "+id, w.Changes.Approve, &pushv1.ApproveRequest{Id: id, By: "operator", Apply: true})
}

func rollBack(t *testing.T, w *world, id string) {
	t.Helper()
	call(t, "roll back "+id, w.Changes.Rollback, &pushv1.RollbackRequest{Id: id, By: "operator", Note: "a test of faults"})
}
