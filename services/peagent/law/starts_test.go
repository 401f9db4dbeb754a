package law

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/millrace/millrace/internal/vpnshare"
)

var (
	phases = flag.Int("phases", 12, "starts of figure 8 per kind of queue")
	until  = flag.Int("until", 11, "seconds of each start")
)

// TestEveryStartIsFair is the start of figure 8 with B3 = 30 Mbit/s: all phases of the agents' rounds and messages are
// different, and the VPNs begin at once, within 0.1 s or within 1 s. From 5 s on each span of 2 s has F above 0.95; the
// paper has it from 10 s on. These made the VPN that crosses all links begin with a fraction of its
// share, and kept it there for up to 18 s:
//   - growth paused while the first request waited behind data, and that is the longer the lower the weight;
//   - a flow whose path was free set the price, and all others forgot to back off.
func TestEveryStartIsFair(t *testing.T) {
	const from, span = 5, 2
	for _, edt := range []bool{false, true} {
		t.Run(fmt.Sprintf("departure times %v", edt), func(t *testing.T) {
			unfair := 0
			var least []float64
			var converged []int
			for seed := range *phases {
				m := several(t, 30)
				m.edt, m.random = edt, rand.New(rand.NewPCG(uint64(seed), 8))
				for _, f := range m.flows {
					f.begin = []float64{0, 0.1, 1}[seed%3] * m.random.Float64()
				}
				m.begin()
				m.run(float64(*until))
				worst, since := 1., 1
				for s := 1; s+span <= *until; s += span {
					f := vpnshare.Fairness(m.throughput(s, s+span), m.weights())
					if f < 0.95 {
						since = s + span
					}
					if s >= from {
						worst = min(worst, f)
					}
				}
				least, converged = append(least, worst), append(converged, since)
				if worst < 0.95 {
					unfair++
				}
			}
			slices.Sort(least)
			slices.Sort(converged)
			t.Logf("sorted, F of the worst 2 s from %d s to %d s: %.3f", from, *until, least)
			t.Logf("sorted, F of each 2 s above 0.95 from, s: %d", converged)
			if unfair > 0 {
				t.Errorf("%d of %d starts are unfair after %d s", unfair, *phases, from)
			}
		})
	}
}

// TestAFreePathSetsNoPrice: two VPNs share a link; a third has another one, where it lost packets until the traffic
// beside it ended. Its price from then on is no measure: against it the two would seem dear, and would not back off.
func TestAFreePathSetsNoPrice(t *testing.T) {
	m := newModel(3, &link{rate: packets(20), buffer: 100, delay: 0.01}, &link{rate: packets(100), buffer: 100, delay: 0.01})
	for i := range 3 {
		m.flows = append(m.flows, &source{Flow: Flow{Weight: 1}, route: []int{i / 2}, back: 0.01, tcp: 10, pe: i / 2})
	}
	m.noise = []poisson{{1, 0.95 * packets(100), 10}}
	m.begin()
	m.run(15)
	third := m.flows[2]
	events, low, measured := third.LossEvents, 0, 0
	for i := range 300 {
		m.run(15 + float64(i)/10)
		d := m.pes[0].domain
		if f := m.flows[0]; d.Price > 0 && f.wantsMore() && f.congested() {
			measured++
			if d.Price < f.Price(&m.p, d.LossInterval)/10 {
				low++
			}
		}
	}
	if events < firstLossEvents || third.LossEvents != events || !third.wantsMore() {
		t.Fatalf("the third VPN had %d loss events, and %d when its path was free", events, third.LossEvents-events)
	}
	if t.Logf("the price is below a tenth of the first VPN's %d of %d times", low, measured); measured < 50 || low > 0 {
		t.Fail()
	}
}
