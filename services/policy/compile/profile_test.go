package compile_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/units"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
	"github.com/millrace/millrace/services/policy/policytest"
)

// The rate of a circuit stands where it enters and nowhere else. What is within it has one rule on every router,
// whatever becomes of the rest; only excess that is best effort has another one behind the ingress, in front of the
// first.
func TestTheProfileOfACircuit(t *testing.T) {
	le := document.DSCP(1)
	for name, c := range map[string]struct {
		rate   units.Rate
		excess compile.Excess
		want   []compile.Profile
		// behind are the queues of the circuit's rules at er, in their order.
		behind []string
	}{
		"not said":    {10e6, "", []compile.Profile{{Circuit: "c", Rate: 10e6, Burst: 128 << 10}}, []string{"circuits"}},
		"queue":       {10e6, compile.ExcessQueue, []compile.Profile{{Circuit: "c", Rate: 10e6, Burst: 128 << 10}}, []string{"circuits"}},
		"drop":        {20e6, compile.ExcessDrop, []compile.Profile{{Circuit: "c", Rate: 20e6, Burst: 250e3, Exceed: document.Action{Drop: true}}}, []string{"circuits"}},
		"best effort": {10e6, compile.ExcessBestEffort, []compile.Profile{{Circuit: "c", Rate: 10e6, Burst: 128 << 10, Exceed: document.Action{Queue: "be", Mark: &le}}}, []string{"be", "circuits"}},
		"no rate":     {0, compile.ExcessBestEffort, nil, []string{"circuits"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := policytest.Read(t, "circuits-two-queue")
			circuit := overCR("c")
			circuit.Profile, circuit.Excess = c.rate, c.excess
			in.Circuits = []compile.Circuit{circuit}
			for _, plan := range compiled(t, in).Plans {
				want := c.want
				if plan.Router != "wr" {
					want = nil
				}
				if diff := cmp.Diff(plan.Profiles, want); diff != "" {
					t.Errorf("profiles of %s (-got +want):\n%s", plan.Router, diff)
				}
				var queues []string
				for _, f := range plan.Filters {
					for _, r := range f.Rules {
						queues = append(queues, r.Queue)
						if r.Profiled != (c.rate > 0 && plan.Router == "wr") {
							t.Errorf("%s %s: rule %d is profiled: %t", plan.Router, f.Name, r.Sequence, r.Profiled)
						}
					}
				}
				if plan.Router == "er" {
					if diff := cmp.Diff(queues, c.behind); diff != "" {
						t.Errorf("queues of rules at er (-got +want):\n%s", diff)
					}
				}
			}
		})
	}
}

// The excess of a circuit is within the circuit's own match, so its rule comes first, whatever flows that has.
func TestTheExcessOfSomeFlowsIsInFrontOfThem(t *testing.T) {
	for port := range uint16(40) {
		in := policytest.Read(t, "circuits-two-queue")
		circuit := overCR("c")
		circuit.Profile, circuit.Excess = 10e6, compile.ExcessBestEffort
		circuit.Matches[0].Protocol, circuit.Matches[0].DstPort = document.TCP, &document.PortRange{First: 5000 + port, Last: 5000 + port}
		in.Circuits = []compile.Circuit{circuit}
		for _, plan := range compiled(t, in).Plans {
			var queues []string
			for _, f := range plan.Filters {
				for _, r := range f.Rules {
					queues = append(queues, r.Queue)
				}
			}
			if plan.Router == "er" && !slices.Equal(queues, []string{"be", "circuits"}) {
				t.Errorf("port %d: queues of rules at er: %v", 5000+port, queues)
			}
		}
	}
}

// As many circuits as a queue guarantees room for may all send their bursts at once: its buffer holds them, where the
// rates are not so low that two packets of GSO are more than the rule.
func TestBurstsOfAllCircuitsFitTheBuffer(t *testing.T) {
	const buffer = document.Duration(100 * time.Millisecond)
	for _, c := range []struct {
		rate units.Rate
		want units.Size
	}{{1, 131072}, {10_485_760, 131072}, {10_486_000, 131075}, {1e9, 12_500_000}, {100e9, 1_250_000_000}, {1e12, 1<<31 - 1}} {
		if got := compile.BurstOf(c.rate, buffer); got != c.want {
			t.Errorf("burst of %s is %d, want %d", c.rate, got, c.want)
		}
	}
	const port, share = units.Rate(10e9), 80
	held := units.Size(uint64(port) / 8 / 10 * share / 100)
	for _, n := range []units.Rate{1, 2, 7, 100} {
		if sum := units.Size(n) * compile.BurstOf(port*share/100/n, buffer); sum > held {
			t.Errorf("%d circuits have bursts of %s, and the buffer is %s", n, sum, held)
		}
	}
}
