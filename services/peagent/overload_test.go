package peagent

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/vpnshare"
)

// BenchmarkOverload: five VPNs with the weights of paper 001's table I offer 3
// Gbit/s of UDP, each the same, which nothing but the agent holds back: through a
// core link of 1 Gbit/s, and through a core that only the processors limit. The
// same path without agents and wireguard-go's tunnel take turns with it.
func BenchmarkOverload(b *testing.B) {
	weights := []float64{1, 2, 2, 3, 4}
	const offered = 3e9
	for _, core := range []string{"1gbit", ""} {
		b.Run(strings.TrimSuffix("core-"+core, "-"), func(b *testing.B) {
			n := wide(b, len(weights), core)
			bits := make([]float64, len(weights))
			for i := range bits {
				bits[i] = offered / float64(len(weights))
			}
			change := func(c *Configuration) { c.Weights = n.weights(weights) }
			var w *tunnel
			if wanted("wireguard-go") {
				w = n.tunnel(wireguardGo(b))
			}
			var got loadReport
			sink := n.process("right", "sink", sinkArguments{Addresses: n.addresses()}, &got)
			source := n.process("left", "source", sourceArguments{Addresses: n.addresses(), Bits: bits}, &got)
			variants := []variant{{"plain", 2 * time.Second, func(*testing.B) func() { return func() {} }}}
			for _, mode := range modes(b) {
				variants = append(variants, variant{"agent-" + mode, 8 * time.Second, n.controlled(mode, change)})
			}
			if w != nil {
				variants = append(variants, variant{"wireguard-go", 2 * time.Second, func(*testing.B) func() { w.use(); return w.leave }})
			}
			takeTurns(b, source, variants, func() (float64, float64) {
				var first, last loadReport
				source.ask(&first)
				x := watch(sink, time.Duration(*lasting*float64(time.Second)))
				source.ask(&last)
				sent := 0.0
				for i := range last.Octets {
					sent += float64(last.Octets[i]-first.Octets[i]) * 8 / 1e9 / last.At.Sub(first.At).Seconds()
				}
				fmt.Printf("    offered %.2f Gbit/s, delivered by VPN %s Gbit/s, of weights %v\n", sent, perVPN(x), weights)
				if core == "" {
					return x.gbits(), vpnshare.Jain(x.octets) // what everybody offers gets through: weights have nothing to say
				}
				return x.gbits(), vpnshare.Fairness(x.octets, weights)
			})
		})
	}
}

func perVPN(w window) string {
	var out []string
	for _, x := range w.octets {
		out = append(out, fmt.Sprintf("%.3f", x*8/1e9/w.elapsed))
	}
	return strings.Join(out, " ")
}
