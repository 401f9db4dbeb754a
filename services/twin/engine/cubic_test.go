package engine

import (
	"math"
	"testing"

	"github.com/millrace/millrace/services/twin/tcp"
	"github.com/millrace/millrace/services/twin/traffic"
)

// cubicCurve is RFC 9438 without packets: the window follows C (t-K)^3 + Wmax, or Reno's line where that is higher. A
// loss comes by chance with every segment sent, and nothing grows in the round trip that repairs it. Segments/s.
func cubicCurve(p, rtt, seconds float64, seed uint64) float64 {
	const scale, beta = 0.4, 0.7
	r := traffic.NewRandom(seed)
	w, top, line, origin, k, began, held := 100.0, 100.0, 100.0, 100.0, 0.0, 0.0, -1.0
	sent := 0.0
	for t := 0.0; t < seconds; t += rtt / 4 {
		now := w / 4
		sent += now
		switch {
		case held > t:
		case held >= 0:
			held, began, line, origin = -1, t, w, max(top, w)
			k = math.Cbrt((origin - w) / scale)
		case r.Float() < 1-math.Exp(-p*now):
			if top, held = w, t+rtt; w < origin {
				top = w * (1 + beta) / 2
			}
			w *= beta
		default:
			alpha := 3 * (1 - beta) / (1 + beta)
			if line >= top {
				alpha = 1
			}
			line += alpha / 4
			w = max(w, line, origin+scale*math.Pow(t-began-k, 3))
		}
	}
	return sent / seconds
}

// What CUBIC gets from random losses where its own growth is above Reno's: the curve with the same losses, drawn anew.
func TestCubicGetsWhatItsCurveGives(t *testing.T) {
	const p, rtt, seeds = 0.0002, 0.204, 5
	var twin, curve float64
	for seed := range uint64(seeds) {
		d := newDumbbell(t, dumbbellConfig{pairs: 1, access: 1e9, core: 1e9, coreDelay: Second / 10, accessDelay: Second / 1000, loss: p, seed: seed})
		i := d.tcp(t, 0, TCPConfig{Config: tcp.Config{Algorithm: tcp.Cubic, SACK: true, Window: 10_000}, Stop: 10_000 * Second})
		d.Run(520 * Second)
		twin += d.TCP(i).Series.Mean(20, 520) / seeds
		curve += cubicCurve(p, rtt, 20_000, seed) * 1448 * 8 / seeds
	}
	// Five hundred losses leave a standard error of 2 % in the twin; the curve has twenty thousand.
	if math.Abs(twin/curve-1) > 0.05 {
		t.Errorf("%.2f Mbit/s, the curve gives %.2f", twin/1e6, curve/1e6)
	}
}
