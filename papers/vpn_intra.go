package papers

import (
	"fmt"

	"github.com/millrace/millrace/papers/score"
	"github.com/millrace/millrace/services/twin/engine"
)

// The grid of figures 5 and 6.
var (
	gridA = []float64{0.1, 0.5, 1, 5}
	gridB = []float64{0.1, 0.5, 0.75}
)

// vpnIntra is figures 5 and 6: fairness among the TCP flows of a VPN. "Unless
// otherwise noted" (section III-A) everything else is as in figures 3 and 4,
// the background and the weights of table I included; F is that of each second.
func vpnIntra() Experiment {
	e := Experiment{ID: "001-intra", Title: "Fairness inside a VPN (section III-A, figures 5 and 6)"}
	for _, flows := range []int{2, 10} {
		e.Cases = append(e.Cases, Case{Name: fmt.Sprintf("none %d", flows), Run: func(r *Recorder) error { return runIntra(r, fmt.Sprintf("none %d", flows), flows, 0.1, 0.1, true) }})
		for _, a := range gridA {
			for _, b := range gridB {
				key := fmt.Sprintf("%s %d", setting(a, b), flows)
				e.Cases = append(e.Cases, Case{Name: key, Run: func(r *Recorder) error { return runIntra(r, key, flows, a, b, false) }})
			}
		}
	}
	e.Derive = deriveIntra
	e.Rows = intraRows()
	return e
}

func runIntra(r *Recorder, key string, flows int, a, b float64, off bool) error {
	var f, whole mean
	for seed := range uint64(repetitions) {
		d := newDomain(a, b, seed, off)
		line := d.port(engine.PortConfig{Name: "bottleneck", Rate: 50e6, LimitPackets: 50, Delay: 5_060_000})
		for i := range 4 {
			d.add(vpnConfig{weight: vpnWeights[i], ports: []int{line}, delay: vpnDelays[i], flows: flows, stop: 1e4})
		}
		d.background(line)
		if err := d.play(r, runFor); err != nil {
			return err
		}
		one, all := d.inside(settled, runFor)
		f.add(one)
		whole.add(all)
	}
	r.Set(key, f.value())
	r.Set(key+" whole", whole.value())
	return nil
}

// inside is F among the flows of a VPN, averaged over VPNs: of each second, and of the whole time.
func (d *domain) inside(from, to int) (second, whole float64) {
	n := 0.0
	for _, v := range d.vpns {
		var all []float64
		for _, f := range v.flows {
			all = append(all, d.TCP(f).Series.Mean(from, to))
		}
		whole += score.Jain(all, nil) / float64(len(d.vpns))
		for s := from; s < to; s++ {
			var x []float64
			for _, f := range v.flows {
				x = append(x, d.TCP(f).Series.At(s))
			}
			if j := score.Jain(x, nil); j == j {
				second, n = second+j, n+1
			}
		}
	}
	return second / n, whole
}

func deriveIntra(v score.Values) {
	for _, flows := range []int{2, 10} {
		none, ok := v[fmt.Sprintf("none %d", flows)]
		if !ok {
			continue
		}
		worst := 1.0
		for _, a := range gridA {
			for _, b := range gridB {
				worst = min(worst, v[fmt.Sprintf("%s %d", setting(a, b), flows)])
			}
		}
		v[fmt.Sprintf("worst %d", flows)] = worst - none
		small := v[fmt.Sprintf("%s %d", setting(0.1, 0.1), flows)]
		v[fmt.Sprintf("better %d", flows)] = small - none
		v[fmt.Sprintf("small %d", flows)] = small / v[fmt.Sprintf("%s %d", setting(5, 0.75), flows)]
	}
	if none, ok := v["none 2"]; ok {
		v["better fast"] = v[setting(5, 0.75)+" 2"] - none
	}
}

func intraRows() []score.Row {
	why := "an index of two flows in OPNET's TCP over 50 s; a tenth of its range"
	note := "OPNET's TCP of 2005 is not described; the twin's has SACK and RFC 6298's timer and times out less, and two flows that see the same queue share it better"
	rows := []score.Row{
		{Key: "none 2", Item: "Fig. 5", What: "F of 2 TCP flows, no I2VFC", Paper: 0.748, Absolute: 0.1, Rationale: why, Explanation: note},
		{Key: setting(5, 0.75) + " 2", Item: "Fig. 5", What: "F of 2 TCP flows, a = 5, b = 0.75", Paper: 0.815, Absolute: 0.1, Rationale: why, Explanation: note},
		{Key: setting(0.1, 0.1) + " 2", Item: "section IV-B", What: "F of 2 TCP flows, value quoted beside the prototype", Paper: 0.92, Absolute: 0.1, Rationale: why, Caveat: "a and b are not stated; 0.1 and 0.1 of the prototype are taken"},
		{Key: "better fast", Item: "Fig. 5", What: "I2VFC (5, 0.75) less none, 2 flows", Paper: 0, Op: score.AtLeast, Rationale: "the paper: improved regardless of a and b", Explanation: note},
	}
	for _, flows := range []int{2, 10} {
		note := note
		if flows == 10 {
			note = "without I2VFC ten flows share the core's 50 packets, 8 ms; with it a PE's queue, whose size section III does not state: the prototype's 128 packets (table V) are 0.35 s at VPN 1's share, and the longer a round trip, the less even one second of ten flows is"
		}
		figure := pick(flows == 2, "Fig. 5", "Fig. 6")
		rows = append(rows,
			score.Row{Key: fmt.Sprintf("better %d", flows), Item: figure, What: fmt.Sprintf("I2VFC (0.1, 0.1) less none, %d flows", flows), Paper: 0, Op: score.AtLeast, Rationale: "the paper: improved", Explanation: note},
			score.Row{Key: fmt.Sprintf("worst %d", flows), Item: figure, What: fmt.Sprintf("I2VFC at the worst of twelve settings less none, %d flows", flows), Paper: 0, Op: score.AtLeast, Rationale: "the paper: improved regardless of a and b", Explanation: note},
			score.Row{Key: fmt.Sprintf("small %d", flows), Item: figure, What: fmt.Sprintf("F with a = b = 0.1 over F with a = 5, b = 0.75, %d flows", flows), Unit: "times", Paper: 1, Op: score.AtLeast, Rationale: "the paper: better when a and b are small", Explanation: note})
	}
	return rows
}
