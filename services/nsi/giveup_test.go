package nsi

import (
	"maps"
	"slices"
	"testing"

	"connectrpc.com/connect"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	nsiv1 "github.com/millrace/millrace/proto/gen/millrace/nsi/v1"
	"github.com/millrace/millrace/services/nsi/states"
)

// all are the ids of all circuits that there are.
func (w *world) all() (ids []string) {
	w.t.Helper()
	list, err := w.circuits.List(w.t.Context(), connect.NewRequest(&circuitsv1.ListRequest{Project: "nsi"}))
	must(w.t, err)
	for _, circuit := range list.Msg.GetCircuits() {
		ids = append(ids, circuit.GetId())
	}
	return ids
}

// A requester that may not release a circuit any more gets an error instead of terminateConfirmed. A circuit that is
// not there, or that is over, counts as released.
func TestWhatIsNotGivenUpIsNotConfirmed(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), newRequester(t)
	w.mayCall(r.url)
	first := newID()
	r.connection(r.send(w.start(), first, reserve("west", "east")))
	r.told("reserveConfirmed " + first)
	terminate := func(by string, circuits ...string) outcome {
		cfg := w.cfg
		cfg.Requesters = maps.Clone(w.cfg.Requesters)
		cfg.Requesters[theirNSA] = Requester{Project: "nsi", By: by}
		c, err := New(cfg, Dependencies{State: w.store, Circuits: w.circuits})
		must(t, err)
		out, err := c.perform(t.Context(), &nsiv1.Connection{Requester: theirNSA, Circuits: circuits}, &nsiv1.Work{Operation: string(states.Terminate)})
		must(t, err)
		return out
	}
	has := w.all()
	if out := terminate("stranger", has...); out.event != "" || out.failed != "error" || out.no == nil || out.no.kind != unauthorized {
		t.Errorf("by a stranger: %+v", out)
	}
	for range 2 {
		if out := terminate("aggregator", slices.Concat(has, []string{"none"})...); out.event != states.TerminateDone || out.no != nil {
			t.Errorf("by a member: %+v", out)
		}
	}
}

// Where somebody else releases one circuit of a connection of two, the requester gets an errorEvent, and the other
// circuit is released.
func TestHalfAConnectionIsGivenUp(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), newRequester(t)
	w.mayCall(r.url)
	c, first, commit := w.start(), newID(), newID()
	id := r.connection(r.send(c, first, reserve("lab", "site")))
	r.told("reserveConfirmed " + first)
	r.send(c, commit, about("reserveCommit", id))
	r.told("reserveCommitConfirmed " + commit)
	_, err := w.circuits.Release(t.Context(), connect.NewRequest(&circuitsv1.ReleaseRequest{Id: w.all()[0], By: "aggregator"}))
	must(t, err)
	r.told("errorEvent " + first)
	list, err := w.circuits.List(t.Context(), connect.NewRequest(&circuitsv1.ListRequest{Project: "nsi"}))
	must(t, err)
	if len(list.Msg.GetCircuits()) != 2 {
		t.Errorf("%d circuits", len(list.Msg.GetCircuits()))
	}
	for _, circuit := range list.Msg.GetCircuits() {
		if circuit.GetState() != circuitsv1.State_STATE_CANCELLED {
			t.Errorf("circuit %s is %s", circuit.GetId(), circuit.GetState())
		}
	}
}
