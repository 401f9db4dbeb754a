package law

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/millrace/millrace/internal/vpnshare"
)

// TestSteadyStateIsTheFormula: under loss events of rate p, the mean
// window is √(a(2−b)/(2bp)), from which b is derived.
func TestSteadyStateIsTheFormula(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	for range 30 {
		p := DefaultParameters()
		p.A = 0.05 + random.Float64()*0.9
		b := 0.02 + random.Float64()*0.4
		loss := math.Pow(10, -2-2*random.Float64())
		f := Flow{Weight: 1, B: b}
		f.Update(&p, Feedback{Now: 0, RTT: 0.01}, 0)
		f.EndSlowStart()
		f.rateHeld = false
		now, sum, n, sent, missing := 0.0, 0.0, 0.0, uint64(0), uint64(0)
		f.Window = math.Sqrt(p.A * (2 - b) / (2 * b * loss))
		if f.Window < 10 {
			continue // less than a packet of increase between losses: no sawtooth
		}
		next := 1 / loss
		for range 200000 {
			sent++
			now += f.SRTT / f.Window
			if next--; next < 0 {
				next, missing = next+1/loss, missing+1
			}
			f.Update(&p, Feedback{Now: now, RTT: 0.01, Sent: sent, Received: sent - missing, WindowLimited: true}, 0)
			sum, n = sum+f.Window/f.Window, n+1/f.Window // the mean over time, not over packets
		}
		got, want := sum/n, math.Sqrt(p.A*(2-b)/(2*b*loss))
		if math.Abs(got/want-1) > 0.03 {
			t.Errorf("a=%.2f b=%.2f p=%.5f: window %.1f, formula says %.1f", p.A, b, loss, got, want)
		}
	}
}

// TestRandomWeightsAndRoundTrips: one bottleneck, shares as in closed form, C·r/Σr.
func TestRandomWeightsAndRoundTrips(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 99))
			capacity := packets(20 + 60*random.Float64())
			m := newModel(seed, &link{rate: capacity, buffer: 50 + 100*random.Float64()})
			total := 0.0
			for i := range 2 + random.IntN(7) {
				delay := 0.005 + 0.05*random.Float64()
				m.links = append(m.links, &link{rate: packets(10000), buffer: 1e6, delay: delay})
				m.flows = append(m.flows, &source{Flow: Flow{Weight: float64(1 + random.IntN(5))}, route: []int{i + 1, 0}, back: delay})
				total += m.flows[i].Weight
			}
			m.begin()
			m.run(160)
			x := m.throughput(60, 160)
			if f := vpnshare.Fairness(x, m.weights()); f < 0.97 {
				t.Errorf("F %.4f", f)
			}
			for i, f := range m.flows {
				if share := capacity * f.Weight / total; x[i] < 0.65*share || x[i] > 1.35*share {
					t.Errorf("flow %d (weight %g, %.0f ms) has %.0f packets/s; its share is %.0f", i, f.Weight, 1000*f.SRTT, x[i], share)
				}
			}
		})
	}
}

// TestRandomTopologies: chains of random links; weights are the max-min rates of the slow oracle.
func TestRandomTopologies(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 77))
			var capacity []float64
			m := newModel(seed)
			for range 2 + random.IntN(3) {
				c := packets(10 + 40*random.Float64())
				capacity = append(capacity, c)
				m.links = append(m.links, &link{rate: c, buffer: 150, delay: 0.001 + 0.01*random.Float64()})
			}
			var routes []vpnshare.Route
			for i := range capacity { // one local flow on each link, so that every link is a bottleneck
				routes = append(routes, vpnshare.Route{Weight: 1, Links: []int{i}})
			}
			for range 2 {
				first := random.IntN(len(capacity))
				var over []int
				for l := first; l <= first+random.IntN(len(capacity)-first); l++ {
					over = append(over, l)
				}
				routes = append(routes, vpnshare.Route{Weight: 1, Links: over})
			}
			share, err := vpnshare.MaxMin(capacity, routes)
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range routes {
				m.flows = append(m.flows, &source{Flow: Flow{Weight: share[i] / share[0]}, route: r.Links, back: 0.002})
			}
			m.p.A, m.p.B = 0.3, 0.1
			m.begin()
			m.run(160)
			if f := vpnshare.Fairness(m.throughput(60, 160), m.weights()); f < 0.95 {
				t.Errorf("F %.4f: %.0f, want %.0f", f, m.throughput(60, 160), share)
			}
		})
	}
}
