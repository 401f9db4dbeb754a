package faults

import (
	"context"
	"net/http"
	"testing"
	"time"

	"connectrpc.com/connect"
	"go.etcd.io/etcd/server/v3/embed"

	"github.com/millrace/millrace/e2e/plane"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/etcd"
	"github.com/millrace/millrace/internal/testkit/program"
	"github.com/millrace/millrace/internal/testkit/tworouters"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/pushtest"
)

// world is the services that make and push change sets, and two routers.
type world struct {
	*plane.Plane
	plane.States
}

// settings are those of an operator, divided: a fault outlasts calls and locks, and a commit that nobody confirms is
// rolled back while the test waits.
const settings = `alpha: {nightly_at: ""}
push: {rollback_after: 20s, verify_for: 5s, call_timeout: 3s, commit_timeout: 4s, lock_ttl: 3s}`

// quota of etcd is plane.Small, so that it can be filled; what change sets leave there is far less.
const quota = 64 << 20

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Plane: plane.New(t, plane.Options{Services: []string{"paths", "policy", "push", "alpha"}, Settings: settings, Etcd: []func(*embed.Config){etcd.Quota(quota)}})}
	tworouters.Tell(t, w.Kafka.Addr, http.DefaultClient, w.URL("paths"), time.Now())
	w.Learn(t, w.Routers, func() { w.verified(t) }) // nothing disturbs it
	return w
}

// call asks until the service answers: it may have been started this moment, or be without its store.
func call[Q, A any](t *testing.T, what string, method func(context.Context, *connect.Request[Q]) (*connect.Response[A], error), request *Q) (answer *A) {
	t.Helper()
	program.Until(t, what, func() (bool, any) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		r, err := method(ctx, connect.NewRequest(request))
		if err != nil {
			return false, err
		}
		answer = r.Msg
		return true, nil
	})
	return answer
}

func (w *world) get(id string) (*pushv1.ChangeSet, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	r, err := w.Changes.Get(ctx, connect.NewRequest(&pushv1.GetRequest{Id: id}))
	if err != nil {
		return nil, err
	}
	return r.Msg.GetChange(), nil
}

// create makes a change set that is planned.
func (w *world) create(t *testing.T) string {
	t.Helper()
	cs := call(t, "a change set is made", w.Changes.Create, &pushv1.CreateRequest{Policy: "geant-lbe", Author: "test"}).GetChange()
	if cs.GetState() != pushv1.State_STATE_PLANNED {
		t.Fatalf("%s is %s: %v", cs.GetId(), cs.GetState(), cs.GetHistory())
	}
	return cs.GetId()
}

// verified makes a change set and brings it to its end.
func (w *world) verified(t *testing.T) string {
	t.Helper()
	id := w.create(t)
	approveAndApply(t, w, id)
	if cs := w.end(t, id); cs.GetState() != pushv1.State_STATE_VERIFIED {
		t.Fatalf("%s, which nothing disturbed, is %s: %v", id, cs.GetState(), cs.GetHistory())
	}
	return id
}

// reached waits until a change set is at a moment.
func (w *world) reached(t *testing.T, h *pushtest.Hold, id string) {
	t.Helper()
	select {
	case <-h.Reached():
	case <-time.After(await.Patience):
		cs, err := w.get(id)
		t.Fatalf("%s does not get to the moment of its fault: %v, %v", id, cs.GetHistory(), err)
	}
}
