package alpha

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"connectrpc.com/connect"

	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

// nextDay makes the next run, with one pair more, and does not mind that it fails.
func (r *rig) nextDay(t *testing.T, dst string) {
	t.Helper()
	r.now = r.now.Add(day)
	if dst != "" {
		r.flow(wr, "10.1.0.5", dst, r.now.Add(-day/2), 2e9)
	}
	if _, err := r.client.Nightly(t.Context(), connect.NewRequest(nightlyRun())); err != nil && connect.CodeOf(err) != connect.CodeUnavailable {
		t.Fatal(err)
	}
}

// pairsAsked is how many pairs each change set has that was made.
func (r *rig) pairsAsked() (out []int) {
	for _, c := range r.created {
		out = append(out, len(c.GetPairs()))
	}
	return out
}

func TestAPairIsInOneChangeSetHoweverTheAnswerIsLost(t *testing.T) {
	for name, lose := range map[string]func(r *rig, t *testing.T){
		"the answer of the first run's": func(r *rig, t *testing.T) {
			r.answersLost = true
			r.nextDay(t, "10.2.0.9")
			r.answersLost = false
			r.nextDay(t, "10.3.0.9")
		},
		"the answer, and services/push is away at the next run": func(r *rig, t *testing.T) {
			r.answersLost = true
			r.nextDay(t, "10.2.0.9")
			r.answersLost, r.pushDown = false, true
			r.nextDay(t, "10.3.0.9")
		},
		"no answer, but services/push is away when it is asked what became": func(r *rig, t *testing.T) {
			r.nextDay(t, "10.2.0.9")
			r.pushDown = true
			r.nextDay(t, "10.3.0.9")
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			r.now = r.now.Add(-day)
			lose(r, t)
			r.pushDown = false
			r.c.retry(t.Context())
			r.c.retry(t.Context())
			r.nextDay(t, "")
			if got := r.pairsAsked(); !slices.Equal(got, []int{1, 1}) {
				t.Errorf("change sets with %v pairs, want two with one pair each", got)
			}
		})
	}
}

func TestAChangeSetThatFailsAfterTheNextRunIsAskedForAgain(t *testing.T) {
	r := newRig(t, nil)
	r.now = r.now.Add(-day)
	r.nextDay(t, "10.2.0.9")
	r.nextDay(t, "10.3.0.9") // the first is not approved yet
	r.states = map[string]pushv1.State{"change-1": pushv1.State_STATE_FAILED}
	r.nextDay(t, "")
	if got := r.pairsAsked(); !slices.Equal(got, []int{1, 1, 1}) || r.created[2].GetPairs()[0] != r.created[0].GetPairs()[0] {
		t.Errorf("change sets with %v pairs, want a third with the pair of the first", got)
	}
	// The policy is planned as a whole, so a later one that is verified satisfies all requests.
	r.states["change-2"], r.states["change-3"] = pushv1.State_STATE_FAILED, pushv1.State_STATE_VERIFIED
	r.nextDay(t, "")
	r.nextDay(t, "10.4.0.9")
	if got := r.pairsAsked(); !slices.Equal(got, []int{1, 1, 1, 1}) {
		t.Errorf("change sets with %v pairs, want a fourth for what is new", got)
	}
	g, err := r.c.memory().current(t.Context())
	if n := len(asked(g.generation)); err != nil || n != 1 {
		t.Errorf("%d requests are remembered (%v), want the last", n, err)
	}
}

// TestRequestsAgainstAModel: whatever is lost, no pair is requested again while its change set may still be
// applied, and each whose change set failed, or never was made, is in the next request that arrives.
func TestRequestsAgainstAModel(t *testing.T) {
	states := []pushv1.State{pushv1.State_STATE_PLANNED, pushv1.State_STATE_APPLYING, pushv1.State_STATE_FAILED, pushv1.State_STATE_VERIFIED, pushv1.State_STATE_ROLLED_BACK, pushv1.State_STATE_ABORTED}
	for seed := range uint64(300) {
		dice := rand.New(rand.NewPCG(seed, 1))
		made := map[string]pushv1.State{} // change sets by key
		holds := map[string]string{}      // the key of the change set that has the pair last
		var all []*alphav1.Asked
		for day := range 12 {
			for key, s := range made {
				if fateOf(s) == open {
					made[key] = states[(len(key)+int(seed)+day*7)%len(states)]
				}
			}
			away := dice.IntN(3) == 0
			kept, again := settle(all, fmt.Sprint(day), func(a *alphav1.Asked) fate {
				s, known := made[a.GetRequest().GetIdempotencyKey()]
				switch {
				case away:
					return unknown
				case !known:
					return absent
				}
				return fateOf(s)
			})
			pair := fmt.Sprint("pair", day)
			request := merge(again, &pushv1.CreateRequest{Pairs: []string{pair}, IdempotencyKey: fmt.Sprint("key", day)})
			all = append(kept, &alphav1.Asked{Request: request})
			for _, a := range all {
				key := a.GetRequest().GetIdempotencyKey()
				if _, known := made[key]; known || dice.IntN(3) == 0 {
					continue // made before, or the request does not arrive
				}
				made[key] = pushv1.State_STATE_PLANNED
				for _, p := range a.GetRequest().GetPairs() {
					if was, known := holds[p]; known && fateOf(made[was]) != failed {
						t.Fatalf("seed %d, day %d: %s is requested again while its change set is %s", seed, day, p, made[was])
					}
					holds[p] = key
				}
			}
			lost(t, seed, day, all, made, holds)
		}
	}
}

// lost fails the test for a pair that is neither requested nor in a change set that did not fail, unless a
// later one that is verified has it.
func lost(t *testing.T, seed uint64, today int, all []*alphav1.Asked, made map[string]pushv1.State, holds map[string]string) {
	t.Helper()
	verified := -1
	for day := range today + 1 {
		if made[holds[fmt.Sprint("pair", day)]] == pushv1.State_STATE_VERIFIED {
			verified = day
		}
	}
	for day := verified + 1; day <= today; day++ {
		pair := fmt.Sprint("pair", day)
		key, known := holds[pair]
		followed := slices.ContainsFunc(all, func(a *alphav1.Asked) bool { return slices.Contains(a.GetRequest().GetPairs(), pair) })
		if (!known || fateOf(made[key]) == failed) && !followed {
			t.Fatalf("seed %d, day %d: %s is lost", seed, today, pair)
		}
	}
}

func TestWhatIsFollowedIsBounded(t *testing.T) {
	pairs := make([]string, maxAskedPairs/3)
	var all []*alphav1.Asked
	for i := range 5 {
		all = append(all, &alphav1.Asked{ChangeId: fmt.Sprint(i), Request: &pushv1.CreateRequest{Pairs: pairs}})
	}
	kept, left := bounded(all)
	if len(kept) != 2 || len(left) != 3 || kept[1].GetChangeId() != "4" {
		t.Errorf("%d are kept and %d left, want the newest 2 and 3", len(kept), len(left))
	}
	one := []*alphav1.Asked{{Request: &pushv1.CreateRequest{Pairs: make([]string, 2*maxAskedPairs)}}}
	if kept, left := bounded(one); len(kept) != 1 || left != nil {
		t.Errorf("the newest is kept whatever its size: %d, %d", len(kept), len(left))
	}
}

// TestAFirstRunOfALargeNetworkFits: etcd takes 1.5 MiB for the generation with all that is requested.
func TestAFirstRunOfALargeNetworkFits(t *testing.T) {
	r := newRig(t, nil)
	var pairs []string
	for i := range 200_000 {
		pairs = append(pairs, fmt.Sprintf("p%012d", i))
	}
	o, err := newOrder(r.c.cfg, nightlyRun(), r.now, r.now.Add(-day))
	if err != nil {
		t.Fatal(err)
	}
	ask := r.c.toAsk(t.Context(), o, nil, &pushv1.CreateRequest{Pairs: pairs, Reason: "Many.", IdempotencyKey: "k"})
	before, err := r.c.memory().read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.c.memory().replace(t.Context(), before, nil, ask); err != nil {
		t.Errorf("not stored: %v", err)
	}
	if got := ask[0].GetRequest().GetReason(); got != "Many. 180000 more pairs changed, which are not named here." {
		t.Errorf("reason %q", got)
	}
}
