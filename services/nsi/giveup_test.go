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

// Who may not give a circuit up any more is told so, and that it is given up is not confirmed. A circuit that is not
// there, or that is over, is given up.
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
