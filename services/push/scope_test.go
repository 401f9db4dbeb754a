package push

import (
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/testkit/await"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
)

// as is the API for one caller, behind the interceptor of the service.
func (w *world) as(who rights.Caller) pushv1connect.ChangeServiceClient {
	mux := http.NewServeMux()
	path, h := w.push.Handler()
	mux.Handle(path, rpc.As(who, func() rpc.Recorder { return nil }, h))
	server := rpc.NewLocal(mux)
	w.t.Cleanup(func() { server.Close() })
	return pushv1connect.NewChangeServiceClient(server.Client(), rpc.LocalURL)
}

// forRouters is an approver of these routers and of every policy.
func forRouters(patterns ...string) rights.Caller {
	scope := rights.Scope{Routers: patterns, Policies: []string{"*"}}
	return rights.Caller{Name: "ann", Role: rights.Approver, Limits: rights.Limits{Grants: []rights.Grant{{Role: rights.Approver, Scope: scope}}}}
}

func denied(err error) bool {
	return connect.CodeOf(err) == connect.CodePermissionDenied && strings.Contains(err.Error(), "ann is limited to")
}

// The plan of the policy touches cr, er and wr. Whose role is for fewer can neither ask for it nor let it be made, even
// where the rule approves by itself.
func TestAChangeSetBeyondAScopeIsNotAskedFor(t *testing.T) {
	w := newWorld(t)
	w.command([]string{"approval", "auto"})
	request := &pushv1.CreateRequest{Policy: "hntes-two-queue", Author: "ann", IdempotencyKey: "beyond"}
	_, err := w.as(forRouters("er", "w?")).Create(t.Context(), connect.NewRequest(request))
	if !denied(err) || !strings.Contains(err.Error(), "router cr") {
		t.Errorf("two of three routers: %v", err)
	}
	w.id = newID("beyond")
	if cs := w.record(); cs.GetState() != pushv1.State_STATE_FAILED || len(cs.GetDevices()) != 0 {
		t.Errorf("its record is %s with %d routers", cs.GetState(), len(cs.GetDevices()))
	}
	for name, r := range w.routers {
		if n := r.Commits(); n != 0 {
			t.Errorf("%s was sent %d commits", name, n)
		}
	}
	mixed := forRouters("er", "wr")
	mixed.Limits.Grants = append(mixed.Limits.Grants, rights.Grant{Role: rights.Approver, Scope: rights.Scope{Routers: []string{"cr"}, Policies: []string{"lbe"}}})
	other := &pushv1.CreateRequest{Policy: "hntes-two-queue", Author: "ann", IdempotencyKey: "mixed"}
	if _, err := w.as(mixed).Create(t.Context(), connect.NewRequest(other)); !denied(err) || !strings.Contains(err.Error(), "router cr and policy hntes-two-queue") {
		t.Errorf("the third router in a scope of another policy: %v", err)
	}
	policies := rights.Caller{Name: "ann", Role: rights.Approver, Limits: rights.Limits{Scope: rights.Scope{Routers: []string{"*"}, Policies: []string{"lbe"}}}}
	if _, err := w.as(policies).Create(t.Context(), connect.NewRequest(request)); !denied(err) {
		t.Errorf("another policy, by a token: %v", err)
	}
}

// The limits are in the record, so a process that finds a draft of another one plans it within them.
func TestADraftThatWasLeftIsPlannedWithinItsScope(t *testing.T) {
	w := newWorld(t)
	w.plans.set("hanging")
	w.id = newID("left")
	ended := make(chan error, 1)
	go func() {
		_, err := w.as(forRouters("er")).Create(w.running, connect.NewRequest(&pushv1.CreateRequest{Policy: "hntes-two-queue", Author: "ann", IdempotencyKey: "left"}))
		ended <- err
	}()
	await.True(t, "it is recorded", func() bool {
		_, err := w.deps.State.Get(t.Context(), recordPrefix+w.id, &pushv1.ChangeSet{})
		return err == nil
	})
	w.stop()
	if err := <-ended; err == nil {
		t.Fatal("it was planned")
	}
	w.plans.set("")
	w.start()
	w.await("the draft was judged", func(cs *pushv1.ChangeSet) bool { return cs.GetState() == pushv1.State_STATE_FAILED })
}

// What somebody else asked for is nobody's to approve, apply, stop or roll back whose role is for other routers.
func TestAChangeSetBeyondAScopeIsNotApproved(t *testing.T) {
	w := newWorld(t)
	must(t, w.command([]string{"create", "day-1"}), "planned")
	for _, who := range []rights.Caller{forRouters("er", "cr"), forRouters(), {Name: "ann", Role: rights.Approver, Limits: rights.Limits{Scope: rights.Scope{VPNs: []string{"*"}}}}} {
		api := w.as(who)
		_, approved := api.Approve(t.Context(), connect.NewRequest(&pushv1.ApproveRequest{Id: w.id, By: "ann"}))
		_, applied := api.Apply(t.Context(), connect.NewRequest(&pushv1.ApplyRequest{Id: w.id, By: "ann"}))
		_, aborted := api.Abort(t.Context(), connect.NewRequest(&pushv1.AbortRequest{Id: w.id, By: "ann"}))
		_, back := api.Rollback(t.Context(), connect.NewRequest(&pushv1.RollbackRequest{Id: w.id, By: "ann"}))
		for call, err := range map[string]error{"approve": approved, "apply": applied, "abort": aborted, "roll back": back} {
			if !denied(err) {
				t.Errorf("%s, %s: %v", who.Limits, call, err)
			}
		}
	}
	if got := w.get().GetState(); got != pushv1.State_STATE_PLANNED {
		t.Fatalf("it is %s", got)
	}
	if _, err := w.as(forRouters("er")).Approve(t.Context(), connect.NewRequest(&pushv1.ApproveRequest{Id: "c-none", By: "ann"})); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("one that is not there: %v", err)
	}
	if _, err := w.as(forRouters("?r")).Approve(t.Context(), connect.NewRequest(&pushv1.ApproveRequest{Id: w.id, By: "ann", Apply: true})); err != nil {
		t.Fatalf("all its routers: %v", err)
	}
	must(t, w.command([]string{"await", "verified"}), "verified")
}

func TestFreezesAreOfRoutersOfTheScope(t *testing.T) {
	w := newWorld(t)
	api := w.as(forRouters("er"))
	for router, want := range map[string]connect.Code{"er": 0, "cr": connect.CodePermissionDenied, "": connect.CodePermissionDenied} {
		_, err := api.Freeze(t.Context(), connect.NewRequest(&pushv1.FreezeRequest{Router: router, By: "ann", Reason: "works"}))
		if got := connect.CodeOf(err); err == nil && want != 0 || err != nil && got != want {
			t.Errorf("freeze %q: %v, want %v", router, err, want)
		}
	}
	must(t, w.command([]string{"freeze"}), "")
	list, err := api.ListFreezes(t.Context(), connect.NewRequest(&pushv1.ListFreezesRequest{}))
	if err != nil || len(list.Msg.GetFreezes()) != 2 { // of er, and of all routers
		t.Errorf("%v, %v", list, err)
	}
	list, err = w.as(forRouters("cr")).ListFreezes(t.Context(), connect.NewRequest(&pushv1.ListFreezesRequest{}))
	if err != nil || len(list.Msg.GetFreezes()) != 1 {
		t.Errorf("%v, %v", list, err)
	}
}
