package vpn

import (
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/millrace/millrace/internal/state"
	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
)

const first = "policy: shares\ndescription: red has less\nvpns: [{name: red, weight: 1}, {name: blue, weight: 2}]\n"

// wantWeights compares what each agent has.
func (w *world) wantWeights(want map[string]float64) {
	w.t.Helper()
	for i, a := range w.agents {
		if d := cmp.Diff(a.weights(), want, cmpopts.EquateApprox(0, 1e-9)); d != "" {
			w.t.Errorf("pe%d (-got +want):\n%s", i+1, d)
		}
	}
}

// TestLifeOfWeights: a policy file, an operator's change, its undoing, another file.
func TestLifeOfWeights(t *testing.T) {
	w := newWorld(t)
	w.policy("shares.yaml", first)
	s := w.start(w.following(""))
	s.all(1)
	w.wantWeights(map[string]float64{"red": 1, "blue": 2})
	w.tells("vpn-weights-installed", "All 2 PEs have VPN weights of version 1.")

	r := s.set("red", 8)
	if got := r.GetChange(); got.GetBy() != "anna" || got.GetReason() != "a test" || got.GetVersion().GetNumber() != 2 || got.GetPolicy() != "shares" {
		t.Errorf("%v", got)
	}
	if d := cmp.Diff(r.GetChange().GetDiff(), []*vpnv1.Difference{{Vpn: "red", Before: 1, After: 8}}, protocmp.Transform()); d != "" {
		t.Errorf("(-got +want):\n%s", d)
	}
	for _, p := range r.GetPes() {
		if !p.GetCurrent() || p.GetError() != "" {
			t.Errorf("the answer came before %v had it", p)
		}
	}
	w.wantWeights(map[string]float64{"red": 8, "blue": 2})
	w.tells("vpn-weights-changed", "anna changed VPN weights (version 2): red 1 to 8. Reason: a test.")

	back := func(version uint64, dry bool) *vpnv1.Change {
		r, err := s.Restore(t.Context(), connect.NewRequest(&vpnv1.RestoreRequest{Version: version, By: "bert", Reason: "blue complains", DryRun: dry}))
		if err != nil {
			t.Fatal(err)
		}
		return r.Msg.GetChange()
	}
	if got := back(0, true); got.GetVersion().GetNumber() != 3 || got.GetRestored() != 1 || len(got.GetDiff()) != 1 {
		t.Errorf("dry run: %v", got)
	}
	w.wantWeights(map[string]float64{"red": 8, "blue": 2})
	back(0, false)
	w.wantWeights(map[string]float64{"red": 1, "blue": 2})
	back(2, false)
	w.wantWeights(map[string]float64{"red": 8, "blue": 2})

	w.policy("shares.yaml", strings.Replace(first, "weight: 2", "weight: 5", 1))
	s.all(5)
	w.wantWeights(map[string]float64{"red": 1, "blue": 5})
	h, err := s.History(t.Context(), connect.NewRequest(&vpnv1.HistoryRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	var by []string
	for _, c := range h.Msg.GetChanges() {
		by = append(by, c.GetBy())
	}
	if d := cmp.Diff(by, []string{"policy file shares.yaml", "bert", "bert", "anna", "policy file shares.yaml"}); d != "" {
		t.Errorf("history (-got +want):\n%s", d)
	}
}

// TestBadRequests are refused as a whole, and the error names a valid value.
func TestBadRequests(t *testing.T) {
	w := newWorld(t)
	w.policy("shares.yaml", first)
	s := w.start(w.following("shares"))
	s.all(1)
	weight := func(vpn string, v float64) []*vpnv1.Weight {
		return []*vpnv1.Weight{{Vpn: "blue", Weight: 9}, {Vpn: vpn, Weight: v}}
	}
	for _, c := range []struct {
		name, by, reason string
		weights          []*vpnv1.Weight
		want             string
	}{
		{"an unknown name", "anna", "x", weight("rad", 2), `no PE has a VPN called "rad"; there are blue, red`},
		{"a weight of 0", "anna", "x", weight("red", 0), "weight 0 of VPN red: use more than 0"},
		{"a negative weight", "anna", "x", weight("red", -1), "use more than 0"},
		{"not a number", "anna", "x", weight("red", math.NaN()), "weight NaN of VPN red"},
		{"infinity", "anna", "x", weight("red", math.Inf(1)), "at most 1e+06"},
		{"a name twice", "anna", "x", weight("blue", 2), "blue is listed twice"},
		{"nobody", " ", "x", weight("red", 2), "give the author"},
		{"no reason", "anna", "", weight("red", 2), "give a reason"},
		{"nothing", "anna", "x", nil, "name a VPN"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := s.SetWeights(t.Context(), connect.NewRequest(&vpnv1.SetWeightsRequest{By: c.by, Reason: c.reason, Weights: c.weights}))
			if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	_, err := s.Restore(t.Context(), connect.NewRequest(&vpnv1.RestoreRequest{By: "anna", Reason: "x"}))
	if connect.CodeOf(err) != connect.CodeNotFound || !strings.Contains(err.Error(), "no earlier version was in force") {
		t.Errorf("back before the first: %v", err)
	}
	_, err = s.Restore(t.Context(), connect.NewRequest(&vpnv1.RestoreRequest{Version: 77, By: "anna", Reason: "x"}))
	if connect.CodeOf(err) != connect.CodeNotFound || !strings.Contains(err.Error(), "version 77 is not kept") {
		t.Errorf("back to what never was: %v", err)
	}
	_, err = s.ApplyPolicy(t.Context(), connect.NewRequest(&vpnv1.ApplyPolicyRequest{Policy: "nice", By: "anna", Reason: "x"}))
	if connect.CodeOf(err) != connect.CodeFailedPrecondition || !strings.Contains(err.Error(), "shares (shares.yaml)") {
		t.Errorf("a policy nobody wrote: %v", err)
	}
	w.wantWeights(map[string]float64{"red": 1, "blue": 2})
	if n := s.weights().GetVersion().GetNumber(); n != 1 {
		t.Errorf("version %d after nothing but rejected requests", n)
	}
}

// TestAPEThatIsAwayIsNamedAndToldLater: no change is half applied in silence.
func TestAPEThatIsAwayIsNamedAndToldLater(t *testing.T) {
	w := newWorld(t)
	s := w.start(func(c *Configuration) { c.Settle = c.Timeout })
	until(t, "both answer", func() (bool, any) { return len(w.said.of("vpn-pe-up")) == 2, w.said.of("vpn-pe-up") })
	if w.agents[0].weights()["red"] != 0 {
		t.Error("without policy and change a PE was told weights")
	}
	w.agents[1].down(t)
	w.tells("vpn-pe-down", "The PE agent of pe2 at")
	r := s.set("red", 3)
	if p := r.GetPes(); !p[0].GetCurrent() || p[1].GetCurrent() || p[1].GetConnected() || !strings.Contains(p[1].GetError(), "connection refused") {
		t.Errorf("%v", p)
	}
	w.tells("vpn-weights-incomplete", "1 of 2 PEs do not have VPN weights of version 1: pe2.")
	w.agents[1].up(t)
	s.all(1)
	w.tells("vpn-weights-installed", "All 2 PEs")
	w.wantWeights(map[string]float64{"red": 3})

	w.agents[1].change(func(a *agent) { a.refuses = errors.New("disk full") })
	r = s.set("red", 4)
	if p := r.GetPes()[1]; p.GetCurrent() || !strings.Contains(p.GetError(), "version 2 not installed") || !strings.Contains(p.GetError(), "disk full") {
		t.Errorf("%v", p)
	}
	w.agents[1].change(func(a *agent) { a.refuses = nil })
	s.all(2)
}

// TestSomebodyElsesWeightsAreReplaced: a change made at the PE itself.
func TestSomebodyElsesWeightsAreReplaced(t *testing.T) {
	w := newWorld(t)
	w.policy("shares.yaml", first)
	s := w.start(w.following("shares"))
	s.all(1)
	w.agents[0].change(func(a *agent) { a.has = nil })
	w.tells("vpn-weights-reinstalled", "pe1 no longer has VPN weights of version 1")
	s.all(1)
	w.wantWeights(map[string]float64{"red": 1, "blue": 2})
	w.agents[0].mu.Lock()
	defer w.agents[0].mu.Unlock()
	if w.agents[0].installs != 2 {
		t.Errorf("installed %d times, want once and once again", w.agents[0].installs)
	}
}

// TestAnInvalidPolicyKeepsTheWeightsInForce, with one event then and one when it is corrected.
func TestAnInvalidPolicyKeepsTheWeightsInForce(t *testing.T) {
	w := newWorld(t)
	w.policy("shares.yaml", first)
	s := w.start(w.following("shares"))
	s.all(1)
	w.policy("shares.yaml", strings.Replace(first, "weight: 2", "weight: 0", 1))
	w.tells("vpn-policy-invalid", "weight 0 of VPN blue")
	if p := s.weights().GetPolicies(); len(p) != 1 || !strings.Contains(p[0].GetError(), "weight 0 of VPN blue") {
		t.Errorf("%v", p)
	}
	w.wantWeights(map[string]float64{"red": 1, "blue": 2})
	w.policy("shares.yaml", strings.Replace(first, "name: red", "name: rad", 1))
	s.all(2)
	w.tells("vpn-policy-valid", "followed again")
	w.tells("vpn-unknown-name", "No PE has a VPN called rad")
	if d := cmp.Diff(s.weights().GetUnknown(), []string{"rad"}); d != "" {
		t.Errorf("(-got +want):\n%s", d)
	}
	if n := len(w.said.of("vpn-policy-invalid")); n != 1 {
		t.Errorf("told %d times that the policy is broken", n)
	}
}

// TestOneOfSeveralPolicies: one must be chosen; another may be chosen later.
func TestOneOfSeveralPolicies(t *testing.T) {
	w := newWorld(t)
	w.policy("shares.yaml", first)
	w.policy("equal.yaml", "policy: equal\ncriterion: equal\nvpns: [{name: red, weight: 3}, {name: blue}]\n")
	w.policy("twin.yaml", "policy: equal\nvpns: []\n")
	s := w.start(w.following(""))
	w.tells("vpn-policy-invalid", "choose one with vpn.policy")
	r, err := s.ApplyPolicy(t.Context(), connect.NewRequest(&vpnv1.ApplyPolicyRequest{Policy: "equal", By: "anna", Reason: "all the same"}))
	if err != nil || r.Msg.GetChange().GetCriterion() != "equal" {
		t.Fatalf("%v, %v", r, err)
	}
	w.tells("vpn-policy-valid", "")
	s.all(1)
	w.wantWeights(map[string]float64{"red": 1, "blue": 1})
	r, err = s.ApplyPolicy(t.Context(), connect.NewRequest(&vpnv1.ApplyPolicyRequest{Policy: "shares", By: "anna", Reason: "no"}))
	if err != nil {
		t.Fatal(err)
	}
	s.all(2)
	for _, p := range s.weights().GetPolicies() {
		if (p.GetError() != "") != (p.GetFile() == "twin.yaml") {
			t.Errorf("%v", p)
		}
	}
}

// TestARestartKeepsAHandsChange: the file is older than the change, also for the next process.
func TestARestartKeepsAHandsChange(t *testing.T) {
	w := newWorld(t)
	w.policy("shares.yaml", first)
	s := w.start(w.following("shares"))
	s.all(1)
	s.set("red", 8)
	s.stop()
	w.agents[0].change(func(a *agent) { a.has = nil })
	s = w.start(w.following("shares"))
	s.all(2)
	w.wantWeights(map[string]float64{"red": 8, "blue": 2})
	until(t, "the file was read", func() (bool, any) { return s.comp.policyDigest() != nil, nil })
	s.set("red", 8)
	if n := s.weights().GetVersion().GetNumber(); n != 2 {
		t.Errorf("version %d after asking for what is in force", n)
	}
}

// TestMaxMinFollowsTheTopology: rates and routes of the network make the weights, and make them anew when it changes.
func TestMaxMinFollowsTheTopology(t *testing.T) {
	w := newWorld(t)
	w.policy("mm.yaml", "policy: mm\ncriterion: max-min\nvpns: [{name: red}, {name: blue}]\n")
	w.agents[0].change(func(a *agent) { a.flows = []*vpnv1.Flow{flow("red", 1, 2, 1, 0), flow("blue", 1, 2, 1, 0)} })
	w.agents[1].change(func(a *agent) { a.flows = []*vpnv1.Flow{flow("red", 2, 1, 1, 0)} })
	s := w.start(w.following("mm"))
	w.tells("vpn-policy-invalid", "max-min fairness needs links")
	set := func(there, back uint64) {
		w.paths.mu.Lock()
		defer w.paths.mu.Unlock()
		w.paths.rate = map[string]uint64{"10.255.0.1 10.255.0.2": there, "10.255.0.2 10.255.0.1": back}
	}
	// Red crosses both links, blue the first: the second holds red at 3 of 10, and blue has the other 7.
	set(10e6, 3e6)
	s.all(1)
	w.wantWeights(map[string]float64{"red": 1, "blue": 2.333})
	set(10e6, 20e6)
	s.all(2)
	w.wantWeights(map[string]float64{"red": 1, "blue": 1})
}

// TestALinkThatIsNotReadIsNotGone: where services/paths does not answer for two PEs, or has no topology yet, the links
// that were read last stay, and where the network has no path between them, the others' rates are max-min. None makes
// the policy invalid.
func TestALinkThatIsNotReadIsNotGone(t *testing.T) {
	for name, c := range map[string]struct {
		code    connect.Code
		nothing bool // no topology
		blue    float64
	}{
		"no answer": {connect.CodeUnavailable, false, 2.333}, "no path": {connect.CodeFailedPrecondition, false, 1},
		"no topology": {connect.CodeNotFound, true, 2.333},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.policy("mm.yaml", "policy: mm\ncriterion: max-min\nvpns: [{name: red}, {name: blue}]\n")
			w.agents[0].change(func(a *agent) { a.flows = []*vpnv1.Flow{flow("red", 1, 2, 1, 0), flow("blue", 1, 2, 1, 0)} })
			w.agents[1].change(func(a *agent) { a.flows = []*vpnv1.Flow{flow("red", 2, 1, 1, 0)} })
			w.paths.rate = map[string]uint64{"10.255.0.1 10.255.0.2": 10e6, "10.255.0.2 10.255.0.1": 3e6}
			s := w.start(w.following("mm"))
			s.all(1)
			w.paths.mu.Lock()
			w.paths.fails = map[string]connect.Code{"10.255.0.2 10.255.0.1": c.code}
			if c.nothing {
				w.paths.rate = nil
			}
			w.paths.mu.Unlock()
			s.comp.readRoutes(t.Context())
			s.comp.reconcile(t.Context())
			s.comp.mu.Lock()
			problem := s.comp.problem
			s.comp.mu.Unlock()
			if problem != "" {
				t.Fatal(problem)
			}
			until(t, "the weights", func() (bool, any) {
				got := w.agents[0].weights()
				return got["blue"] == c.blue, got
			})
		})
	}
}

// TestAChangeWhoseRecordIsAnsweredTooLate: etcd has written the change, and its answer did not come. The change is in
// force, so it is answered as one, and told.
func TestAChangeWhoseRecordIsAnsweredTooLate(t *testing.T) {
	w := newWorld(t)
	lost := atomic.Bool{}
	w.deps.State = w.deps.State.WithFaults(func(key string, value []byte) state.Fault {
		if strings.HasPrefix(key, keyChanges) && value != nil && lost.CompareAndSwap(true, false) {
			return state.AnswerLost
		}
		return state.None
	})
	s := w.start(nil)
	until(t, "both VPNs are known", func() (bool, any) {
		r := s.weights()
		return len(s.comp.names()) == 2, r
	})
	lost.Store(true)
	if got := s.set("red", 2).GetChange(); got.GetVersion().GetNumber() != 1 || got.GetBy() != "anna" {
		t.Errorf("%v", got)
	}
	w.tells("vpn-weights-changed", "anna changed VPN weights (version 1): red not named to 2.")
}

func TestConfigurations(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Configuration)
		want   string
	}{
		{"as it is by default", func(*Configuration) {}, ""},
		{"too often", func(c *Configuration) { c.Interval = 1 }, "at least 100ms"},
		{"no time to answer", func(c *Configuration) { c.Timeout = 0 }, "above 0"},
		{"no roll-back", func(c *Configuration) { c.History = 1 }, "no roll-back"},
		{"a policy without a folder", func(c *Configuration) { c.Policy = "x" }, "set vpn dir"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := DefaultConfiguration()
			c.change(&cfg)
			err := cfg.Validate()
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
