package circuits

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/topo"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/proto/gen/millrace/circuits/v1/circuitsv1connect"
)

// forRouters is ann, an operator of these routers.
func forRouters(patterns ...string) rights.Caller {
	return rights.Caller{Name: "ann", Role: rights.Operator, Limits: rights.Limits{Grants: []rights.Grant{{Role: rights.Operator, Scope: rights.Scope{Routers: patterns}}}}}
}

// as serves the API and REST to one caller, behind the interceptor of the service.
func (w *world) as(c *Component, who rights.Caller) (circuitsv1connect.CircuitsServiceClient, http.Handler) {
	mux := http.NewServeMux()
	for _, mount := range []func() (string, http.Handler){c.Handler, c.REST} {
		path, h := mount()
		mux.Handle(path, rpc.As(who, func() rpc.Recorder { return nil }, h))
	}
	server := rpc.NewLocal(mux)
	w.t.Cleanup(func() { server.Close() })
	return circuitsv1connect.NewCircuitsServiceClient(server.Client(), rpc.LocalURL), mux
}

// denied reports whether a call was refused because of a router.
func denied(err error, router string) bool {
	return connect.CodeOf(err) == connect.CodePermissionDenied && strings.Contains(err.Error(), "is about "+router+"; ann is limited to")
}

func ask(t *testing.T, api circuitsv1connect.CircuitsServiceClient, id string, terms ...*circuitsv1.Terms) error {
	if len(terms) > 1 {
		_, err := api.RequestAll(t.Context(), connect.NewRequest(&circuitsv1.RequestAllRequest{RequestId: id, Terms: terms, Commit: true}))
		return err
	}
	_, err := api.Request(t.Context(), connect.NewRequest(&circuitsv1.RequestRequest{RequestId: id, Terms: terms[0], Commit: true}))
	return err
}

// Both ends have to be within the scope; what is between them does not: the link between a and b is away, so the path
// is by c.
func TestCircuitsAreRequestedBetweenRoutersOfTheScope(t *testing.T) {
	w := newWorld(t)
	w.link("a-b", false)
	api, _ := w.as(w.start(), forRouters("a", "b"))
	if err := ask(t, api, "within", w.terms("a", "b", 1)); err != nil {
		t.Errorf("both ends: %v", err)
	}
	if err := ask(t, api, "all-within", w.terms("a", "b", 1), w.terms("b", "a", 1)); err != nil {
		t.Errorf("both ends of each of a batch: %v", err)
	}
	for name, terms := range map[string][]*circuitsv1.Terms{
		"one end":                {w.terms("a", "c", 1)},
		"the other end":          {w.terms("c", "b", 1)},
		"one end of one of many": {w.terms("a", "b", 1), w.terms("b", "c", 1)},
	} {
		if err := ask(t, api, "beyond", terms...); !denied(err, "router c") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := ask(t, api, "by-address", w.terms("a", routers["b"], 1)); !denied(err, "router "+routers["b"]) {
		t.Errorf("an end by its loopback, which no scope names: %v", err)
	}
	list, err := api.List(t.Context(), connect.NewRequest(&circuitsv1.ListRequest{}))
	if err != nil || len(list.Msg.GetCircuits()) != 3 {
		t.Errorf("booked are %v, %v", list, err)
	}
}

// What names a circuit is judged by its ends, by Connect and by REST.
func TestACircuitBeyondAScopeIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	other := w.booked(c, "other", w.terms("a", "c", 1))
	api, web := w.as(c, forRouters("a", "b"))
	for name, call := range changing(t, api, other) {
		if err := call(); !denied(err, "router c") {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := httptest.NewRequest(http.MethodPost, "/v1/circuits/"+other.GetId()+"/release", strings.NewReader("{}"))
	r.Header.Set("Content-Type", "application/json")
	answer := httptest.NewRecorder()
	web.ServeHTTP(answer, r)
	if answer.Code != http.StatusForbidden || !strings.Contains(answer.Body.String(), "is about router c") {
		t.Errorf("REST: %d %s", answer.Code, answer.Body)
	}
	if is := w.get(c, other.GetId()); is.GetVersion() != other.GetVersion() {
		t.Errorf("it is %v", is)
	}
	_, err := api.Release(t.Context(), connect.NewRequest(&circuitsv1.ReleaseRequest{Id: "none"}))
	if connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("one that is not there: %v", err)
	}
	if _, err := api.Reoptimise(t.Context(), connect.NewRequest(&circuitsv1.ReoptimiseRequest{})); !denied(err, "every router") {
		t.Errorf("all circuits: %v", err)
	}
	if _, err := api.AddMaintenance(t.Context(), connect.NewRequest(&circuitsv1.AddMaintenanceRequest{Id: "m", Routers: []string{"a"}})); !denied(err, "every router") {
		t.Errorf("maintenance, which moves everybody's circuits: %v", err)
	}
}

func changing(t *testing.T, api circuitsv1connect.CircuitsServiceClient, of *circuitsv1.Circuit) map[string]func() error {
	id := of.GetId()
	return map[string]func() error{
		"commit": func() error {
			_, err := api.Commit(t.Context(), connect.NewRequest(&circuitsv1.CommitRequest{Id: id}))
			return err
		},
		"extend": func() error {
			_, err := api.Extend(t.Context(), connect.NewRequest(&circuitsv1.ExtendRequest{Id: id}))
			return err
		},
		"modify": func() error {
			_, err := api.Modify(t.Context(), connect.NewRequest(&circuitsv1.ModifyRequest{Id: id, Version: of.GetVersion(), RateBitsPerSecond: giga / 2}))
			return err
		},
		"reoptimise": func() error {
			_, err := api.Reoptimise(t.Context(), connect.NewRequest(&circuitsv1.ReoptimiseRequest{Id: id}))
			return err
		},
		"activate": func() error {
			_, err := api.Activate(t.Context(), connect.NewRequest(&circuitsv1.ActivateRequest{Id: id}))
			return err
		},
		"deactivate": func() error {
			_, err := api.Deactivate(t.Context(), connect.NewRequest(&circuitsv1.DeactivateRequest{Id: id}))
			return err
		},
		"release": func() error {
			_, err := api.Release(t.Context(), connect.NewRequest(&circuitsv1.ReleaseRequest{Id: id}))
			return err
		},
	}
}

// A circuit that somebody requested by loopbacks is of the routers that have them.
func TestEndsHaveNames(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	is := w.booked(c, "1", w.terms(routers["a"], routers["b"], 1))
	api, _ := w.as(c, forRouters("a", "b"))
	if _, err := api.Release(t.Context(), connect.NewRequest(&circuitsv1.ReleaseRequest{Id: is.GetId()})); err != nil {
		t.Error(err)
	}
	if got := endsOf(nil, w.terms("x", "10.0.0.9", 1)); got[0] != "x" || got[1] != "10.0.0.9" {
		t.Errorf("without a topology: %q", got)
	}
	if got := endsOf(&topo.Graph{}, w.terms("x", "10.0.0.9", 1)); got[0] != "x" || got[1] != "10.0.0.9" {
		t.Errorf("in one without them: %q", got)
	}
}

// A list has the circuits with an end within the scope.
func TestListsAreOfTheScope(t *testing.T) {
	w := newWorld(t)
	c := w.start()
	one := w.booked(c, "1", w.terms("a", "b", 1))
	w.booked(c, "2", w.terms("b", "c", 1))
	api, _ := w.as(c, forRouters("a"))
	list, err := api.List(t.Context(), connect.NewRequest(&circuitsv1.ListRequest{}))
	if err != nil || len(list.Msg.GetCircuits()) != 1 || list.Msg.GetCircuits()[0].GetId() != one.GetId() {
		t.Errorf("%v, %v", list, err)
	}
	everybody, _ := w.as(c, rights.Caller{Name: "ann", Role: rights.Operator})
	if all, err := everybody.List(t.Context(), connect.NewRequest(&circuitsv1.ListRequest{})); err != nil || len(all.Msg.GetCircuits()) != 2 {
		t.Errorf("without a scope: %v, %v", all, err)
	}
}

// A circuit of the scope takes no capacity from one that is beyond it.
func TestNobodyBeyondAScopeIsDisplaced(t *testing.T) {
	w := newWorld(t)
	w.displacing(2)
	w.link("a-c", false)
	c := w.start()
	there := w.booked(c, "1", w.terms("a", "c", 4)) // by b
	api, _ := w.as(c, forRouters("a", "b"))
	terms := urgent(w.terms("a", "b", 3), 3)
	if err := ask(t, api, "2", terms); connect.CodeOf(err) != connect.CodePermissionDenied || !strings.Contains(err.Error(), "it would displace circuit "+there.GetId()) {
		t.Errorf("displaced: %v", err)
	}
	if is := w.get(c, there.GetId()); is.GetVersion() != there.GetVersion() {
		t.Errorf("it is %v", is)
	}
	all, _ := w.as(c, forRouters("a", "b", "c"))
	if err := ask(t, all, "2", terms); err != nil {
		t.Errorf("within the scope: %v", err)
	}
	if is := w.get(c, there.GetId()); is.GetPreempted() == nil {
		t.Errorf("it is %v", is)
	}
}
