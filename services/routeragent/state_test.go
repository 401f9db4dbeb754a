package routeragent_test

import (
	"strings"
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"

	"github.com/millrace/millrace/services/routeragent/state"
	"github.com/millrace/millrace/services/routeragent/tree"
)

// unseen are state leaves that a router in order, without FRR and with every kernel feature, has no value for.
var unseen = []string{"/agent/state/drift", "/agent/state/pending-commit", "/agent/state/missing-feature", "/protocols/protocol/"}

func TestProvidedStateIsWhatARouterAnswers(t *testing.T) {
	seen := map[string]bool{}
	for _, config := range []string{hntes("95"), policed, profiled, frames, weighted(1, 1)} {
		readState(t, config, seen)
	}
	for path := range state.Provided {
		excused := false
		for _, part := range unseen {
			excused = excused || strings.Contains(path, part)
		}
		if !seen[path] && !excused {
			t.Errorf("%s is in state.Provided and was not answered", path)
		}
	}
}

// readState reads all state of a router with a configuration.
func readState(t *testing.T, config string, seen map[string]bool) {
	x := newTarget(t)
	x.must(t, "update / "+config)
	r, err := x.ask(&gnmi.GetRequest{Type: gnmi.GetRequest_STATE, Encoding: gnmi.Encoding_PROTO})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range r.GetNotification()[0].GetUpdate() {
		p, err := tree.Resolve(nil, u.GetPath())
		if err != nil {
			t.Fatal(err)
		}
		if path := p.Schema().Path(); !p.IsListKey() {
			seen[path] = true
			if !state.Provided[path] {
				t.Errorf("%s is answered and not in state.Provided", path)
			}
		}
	}
}
