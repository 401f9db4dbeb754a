package compile_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/shares"
	"github.com/millrace/millrace/internal/units"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
)

// Each LSP and each pair of routers is requested once, sorted; pairs that need no path request none.
func TestWhatThePairsAskFor(t *testing.T) {
	lsp, wide := document.LSP{}, document.LSP{MinBandwidth: 5}
	p := document.Policy{Redirect: []document.Redirect{{LSP: &lsp}, {LSP: &wide}, {Pairs: document.SourceAlpha}}}
	var pairs []compile.Pair
	for redirect := range p.Redirect {
		for _, ends := range [][2]string{{"b", "c"}, {"a", "c"}, {"a", "b"}, {"a", "c"}, {"a", "a"}} {
			pairs = append(pairs, compile.Pair{Ingress: ends[0], Egress: ends[1], Redirect: redirect})
		}
		pairs = append(pairs, compile.Pair{Ingress: "x", Egress: "y", Unmapped: "nobody originates it", Redirect: redirect})
	}
	pairs = append(pairs, compile.Pair{Ingress: "c", Egress: "a", Redirect: 0}, compile.Pair{Ingress: "c", Egress: "b", Redirect: 2})
	wantLSPs := []compile.Demand{
		{From: "a", To: "b", LSP: lsp}, {From: "a", To: "b", LSP: wide}, {From: "a", To: "c", LSP: lsp}, {From: "a", To: "c", LSP: wide},
		{From: "b", To: "c", LSP: lsp}, {From: "b", To: "c", LSP: wide}, {From: "c", To: "a", LSP: lsp},
	}
	if diff := cmp.Diff(compile.Demands(p, pairs), wantLSPs); diff != "" {
		t.Errorf("LSPs (-got +want):\n%s", diff)
	}
	wantRouters := []compile.RouterPair{{From: "a", To: "b"}, {From: "a", To: "c"}, {From: "b", To: "c"}, {From: "c", To: "b"}}
	if diff := cmp.Diff(compile.RouterPairs(p, pairs), wantRouters); diff != "" {
		t.Errorf("pairs of routers (-got +want):\n%s", diff)
	}
	if i := compile.AlphaRedirect(p); i != 2 {
		t.Errorf("the rule for alpha pairs is %d, want 2", i)
	}
	if i := compile.AlphaRedirect(document.Policy{Redirect: p.Redirect[:2]}); i != -1 {
		t.Errorf("the rule for alpha pairs is %d where there is none", i)
	}
}

// Paper 002, section III-B: a port's buffer is 100 ms of its rate; a queue has its part.
func TestBufferAndShares(t *testing.T) {
	plan := compile.RouterPlan{
		BufferTime: document.Duration(100 * time.Millisecond),
		Queues:     []document.Queue{{Weight: 20, Priority: 1, MaxRate: 50, Buffer: 25}, {Weight: 80, Buffer: 75}},
	}
	for i, want := range []uint64{31_250_000, 93_750_000} {
		if got := plan.BufferBytes(10e9, plan.Queues[i]); got != want {
			t.Errorf("queue %d has %d bytes, want %d", i, got, want)
		}
	}
	for _, c := range []struct {
		scheduling document.Scheduling
		max        [2]uint64
		excess     shares.Excess
	}{
		{document.Scheduling{}, [2]uint64{50, 0}, shares.Weighted},
		{document.Scheduling{Excess: document.ExcessEqual}, [2]uint64{50, 0}, shares.Equal},
		{document.Scheduling{Partition: document.Strict}, [2]uint64{20, 80}, shares.Weighted},
	} {
		plan.Scheduling = c.scheduling
		queues, excess := plan.Shares()
		want := []shares.Queue{
			{Weight: 20, Priority: 1, Max: shares.Limit{Percent: c.max[0]}}, {Weight: 80, Max: shares.Limit{Percent: c.max[1]}},
		}
		if diff := cmp.Diff(queues, want); diff != "" || excess != c.excess {
			t.Errorf("%+v: excess %v, queues (-got +want):\n%s", c.scheduling, excess, diff)
		}
	}
	if got := plan.BufferBytes(units.Rate(0), plan.Queues[0]); got != 0 {
		t.Errorf("a port of unknown speed has a buffer of %d bytes", got)
	}
}

// Names of LSPs and sets have at most 64 characters, with the number that a set may get, and differ where ends do.
func TestNamesOfRoutersWithLongNames(t *testing.T) {
	long := strings.Repeat("pop-in-a-city-", 4)
	policy := document.Policy{Redirect: []document.Redirect{{Queue: "bulk", LSP: &document.LSP{}}}}
	seen := map[string]bool{}
	for _, ends := range [][2]string{{"wr", "er"}, {long + "1", "er"}, {long + "1", long + "2"}, {long + "1", long + "3"}, {long + "2", long + "1"}} {
		for _, name := range []string{
			compile.LSPName(compile.Demand{From: ends[0], To: ends[1]}, compile.Path{}),
			compile.SetName(policy, compile.Pair{Ingress: ends[0], Egress: ends[1]}) + "-99",
		} {
			if len(name) > 64 || seen[name] {
				t.Errorf("%s has %d characters, taken before: %v", name, len(name), seen[name])
			}
			seen[name] = true
		}
	}
}
