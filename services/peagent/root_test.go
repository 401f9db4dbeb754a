package peagent

import (
	"testing"
	"time"

	"github.com/millrace/millrace/services/peagent/law"
)

// TestWeightsAreKept: TCP of three VPNs through one bottleneck, weights 1, 2 and 4; then other weights, live.
func TestWeightsAreKept(t *testing.T) {
	n := newNetwork(t, 3)
	weights := n.write("weights.yaml", "policy: test\nvpns: [{name: vpn1, weight: 1}, {name: vpn2, weight: 2}, {name: vpn3, weight: 4}]\n")
	pe1 := n.start(1, func(c *Configuration) { c.Weights = weights })
	n.start(2, nil)
	for vpn := 1; vpn <= 3; vpn++ {
		n.iperf(vpn, "-t", "60", "-P", "4")
	}
	time.Sleep(6 * time.Second)
	x := n.throughput(8 * time.Second)
	t.Logf("Mbit/s %.1f, F %.3f", x, law.Fairness(x, []float64{1, 2, 4}))
	for _, f := range pe1.Flows() {
		t.Logf("%+v", f)
	}
	if f := law.Fairness(x, []float64{1, 2, 4}); f < 0.95 {
		t.Errorf("F %.3f: %.1f Mbit/s", f, x)
	}
	if sum := x[0] + x[1] + x[2]; sum < 85 {
		t.Errorf("the line of 100 Mbit/s carries %.1f", sum)
	}
	if err := pe1.SetWeights(map[string]float64{"vpn1": 4, "vpn3": 1}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second)
	x = n.throughput(4 * time.Second)
	t.Logf("Mbit/s %.1f, F %.3f", x, law.Fairness(x, []float64{4, 2, 1}))
	if f := law.Fairness(x, []float64{4, 2, 1}); f < 0.95 {
		t.Errorf("F %.3f after the change: %.1f Mbit/s", f, x)
	}
}
