package law

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/millrace/millrace/internal/vpnshare"
)

// packets is the rate of a link of so many Mbit/s in full packets per second.
func packets(mbps float64) float64 { return mbps * 1e6 / 8 / 1514 }

func newModel(seed uint64, links ...*link) *model {
	return &model{p: DefaultParameters(), random: rand.New(rand.NewPCG(seed, 1)), links: links}
}

// single is figure 2 of paper 001: tables I and II, 30 % background traffic.
func single(a, b float64, seed uint64) *model {
	m := newModel(seed, &link{rate: packets(50), buffer: 50})
	m.p.A, m.p.B = a, b
	for i, weight := range []float64{1, 2, 2, 3, 4} {
		delay := []float64{.050, .025, .075, .050, .025}[i]
		m.links = append(m.links, &link{rate: packets(1000), buffer: 1000, delay: delay})
		m.flows = append(m.flows, &source{Flow: Flow{Weight: weight}, route: []int{i + 1, 0}, back: delay})
	}
	m.noise = []poisson{{0, 0.3 * packets(50), 0}}
	return m
}

// TestOneBottleneckIsSharedByWeight is figures 3 and 4: F above 0.9 in all of the
// paper's settings, and the link full. F is that of each second, averaged over
// the run and, as in the paper, over repetitions.
func TestOneBottleneckIsSharedByWeight(t *testing.T) {
	const repetitions, seconds = 4, 50
	for _, a := range []float64{0.01, 0.1, 1} {
		for _, b := range []float64{0.1, 0.25} {
			t.Run(fmt.Sprintf("a=%g b=%g", a, b), func(t *testing.T) {
				var mean, full float64
				for seed := range uint64(repetitions) {
					m := single(a, b, seed)
					m.begin()
					m.run(seconds)
					for from := 5; from < seconds; from++ {
						mean += vpnshare.Fairness(m.throughput(from, from+1), m.weights()) / repetitions / (seconds - 5)
					}
					for _, x := range m.throughput(10, seconds) {
						full += x / repetitions
					}
				}
				if mean < 0.9 {
					t.Errorf("F %.3f", mean)
				}
				// A sawtooth of synchronised flows averages 1-b/2 of its top; b is the reference's.
				if share := full / (0.7 * packets(50)); share < 1-b/2-0.06 {
					t.Errorf("the link is %.0f %% full", 100*share)
				}
				t.Logf("F %.3f, link %.0f %% full", mean, full/(0.7*packets(50))*100)
			})
		}
	}
}

// TestOneBottleneckWithTCP is table I with the paper's thirty connections in each VPN: fair, and the link full.
func TestOneBottleneckWithTCP(t *testing.T) {
	for _, edt := range []bool{false, true} {
		t.Run(fmt.Sprintf("departure times %v", edt), func(t *testing.T) {
			m := single(0.1, 0.1, 1)
			m.edt = edt
			for _, f := range m.flows {
				f.tcp = 30
			}
			m.begin()
			m.run(30)
			x, full := m.throughput(5, 30), 0.0
			for _, v := range x {
				full += v / (0.7 * packets(50))
			}
			if f := vpnshare.Fairness(x, m.weights()); f < 0.97 || full < 0.9 {
				t.Errorf("F %.3f, the link %.0f %% full: %.0f", f, 100*full, x)
			}
		})
	}
}

// several is figure 7: VPN 1 crosses all three links, 2 to 4 one each; VPN 1 and 2 enter at one PE. Paper: a = 0.5,
// b = 0.01 for VPN 1, whose price is the highest here and not the lowest.
func several(t *testing.T, b3 float64) *model {
	mbps := []float64{20, 10, b3}
	routes := []vpnshare.Route{{Weight: 1, Links: []int{0, 1, 2}}, {Weight: 1, Links: []int{0}}, {Weight: 1, Links: []int{1}}, {Weight: 1, Links: []int{2}}}
	m := newModel(3)
	for _, c := range mbps {
		m.links = append(m.links, &link{rate: packets(c), buffer: 200, delay: 5.06e-6})
	}
	share, err := vpnshare.MaxMin(mbps, routes)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range routes {
		m.flows = append(m.flows, &source{Flow: Flow{Weight: share[i] / 5}, route: r.Links, back: 1e-5, tcp: 30, pe: []int{0, 0, 1, 2}[i]})
	}
	m.p.A, m.p.B = 0.5, 0.05
	return m
}

// TestSeveralBottlenecksAreMaxMinFair is figure 8, with the paper's thirty TCP
// connections in each VPN: F above 0.95, and converged after 10 s.
func TestSeveralBottlenecksAreMaxMinFair(t *testing.T) {
	for _, b3 := range []float64{10, 20, 30} {
		for _, edt := range []bool{false, true} {
			t.Run(fmt.Sprintf("B3=%g departure times %v", b3, edt), func(t *testing.T) {
				m := several(t, b3)
				m.edt = edt
				m.begin()
				m.run(50)
				if f := vpnshare.Fairness(m.throughput(20, 50), m.weights()); f < 0.95 {
					t.Errorf("F %.3f, rates %.0f", f, m.throughput(20, 50))
				}
				if f := vpnshare.Fairness(m.throughput(10, 15), m.weights()); f < 0.95 {
					t.Errorf("F %.3f from 10 to 15 s, rates %.0f", f, m.throughput(10, 15))
				}
			})
		}
	}
}

// TestAFloodBesideTCP: TCP inside one VPN, a sender that never stops in the other; same weight, same path, no
// propagation delay: the round-trip time is all queue, so rate and queue could oscillate.
func TestAFloodBesideTCP(t *testing.T) {
	for _, edt := range []bool{false, true} {
		for _, connections := range []int{1, 4, 30} {
			t.Run(fmt.Sprintf("%d connections, departure times %v", connections, edt), func(t *testing.T) {
				m := newModel(3, &link{rate: packets(100), buffer: 100})
				m.edt = edt
				m.flows = []*source{
					{Flow: Flow{Weight: 1}, route: []int{0}, back: 1e-4, tcp: connections},
					{Flow: Flow{Weight: 1}, route: []int{0}, back: 1e-4},
				}
				m.begin()
				low, high := m.swing(1)
				x := m.throughput(10, 20)
				if f := vpnshare.Jain(x); f < 0.98 {
					t.Errorf("F %.3f: %.0f", f, x)
				}
				if share := (x[0] + x[1]) / packets(100); share < 0.85 {
					t.Errorf("the link is %.0f %% full", 100*share)
				}
				t.Logf("rates %.0f, the flood's limit %.0f to %.0f", x, low, high)
				if high > 2*low {
					t.Errorf("the flood's limit swings between %.0f and %.0f packets/s", low, high)
				}
			})
		}
	}
}

// TestAcknowledgementsSetNoPrice: the return path of three VPNs with TCP carries acknowledgements alone, which no
// window limits and nobody drops. Loss events that such flows do not have are no price: against it the others would
// seem dear, their b would be near 0, every round trip would have its loss event, and F would be TCP's own.
func TestAcknowledgementsSetNoPrice(t *testing.T) {
	m := newModel(3, &link{rate: packets(100), buffer: 100}, &link{rate: packets(100), buffer: 100})
	for _, weight := range []float64{4, 1, 1} {
		m.flows = append(m.flows, &source{Flow: Flow{Weight: weight}, route: []int{0}, back: 1e-4, tcp: 8})
	}
	for range 3 {
		m.flows = append(m.flows, &source{Flow: Flow{Weight: 1}, route: []int{1}, back: 1e-4, trickle: packets(100) / 6, pe: 1})
	}
	m.begin()
	m.run(60)
	if f := vpnshare.Fairness(m.throughput(30, 60)[:3], m.weights()[:3]); f < 0.97 {
		t.Errorf("F %.3f: %.0f", f, m.throughput(30, 60))
	}
	for i, f := range m.flows[:3] {
		if each := float64(f.received) / float64(f.LossEvents); each < 100 {
			t.Errorf("flow %d has a loss event in %.0f packets, b %.4f", i, each, f.B)
		}
	}
}

// TestAFloodAlone: nothing inside reacts to loss, and the path is short beside the agent's rounds, so that only the law
// keeps rate and queue from oscillating. The rate at any moment is what a dead agent leaves behind.
func TestAFloodAlone(t *testing.T) {
	for _, edt := range []bool{false, true} {
		for _, trip := range []float64{2e-5, 1e-3, 2e-2} {
			t.Run(fmt.Sprintf("round trip %g s, departure times %v", trip, edt), func(t *testing.T) {
				m := newModel(3, &link{rate: packets(100), buffer: 100, delay: trip / 2})
				m.edt = edt
				m.flows = []*source{{Flow: Flow{Weight: 1}, route: []int{0}, back: trip / 2}}
				m.begin()
				low, high := m.swing(0)
				x := m.throughput(10, 20)[0] / packets(100)
				t.Logf("link %.2f full, limit %.2f to %.2f of it", x, low/packets(100), high/packets(100))
				if x < 0.95 || high > 2*low {
					t.Errorf("the link is %.2f full, the limit swings between %.2f and %.2f of it", x, low/packets(100), high/packets(100))
				}
			})
		}
	}
}

// swing is between what a flow's rate is for nine tenths of the time from 10 to 20 s.
func (m *model) swing(flow int) (low, high float64) {
	var rates []float64
	for i := range 1000 {
		m.run(10 + float64(i)/100)
		rates = append(rates, m.flows[flow].Rate())
	}
	m.run(20)
	slices.Sort(rates)
	return rates[50], rates[949]
}

// TestPrototypeStarts is section IV-B: four equal VPNs 5 s apart over 50 Mbit/s and 2 ms are equal by 25 s.
func TestPrototypeStarts(t *testing.T) {
	m := newModel(5, &link{rate: packets(50), buffer: 50, delay: 0.002})
	for i := range 4 {
		m.flows = append(m.flows, &source{Flow: Flow{Weight: 1}, route: []int{0}, back: 0.002, begin: float64(5 * i)})
	}
	m.begin()
	m.run(40)
	for from := 25; from < 40; from += 5 {
		if f := vpnshare.Fairness(m.throughput(from, from+2), m.weights()); f < 0.95 {
			t.Errorf("F %.3f at %d s: %.0f", f, from, m.throughput(from, from+2))
		}
	}
}
