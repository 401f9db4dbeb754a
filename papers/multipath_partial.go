package papers

import (
	"fmt"

	"github.com/millrace/millrace/papers/score"
	"github.com/millrace/millrace/services/twin/engine"
	"github.com/millrace/millrace/services/twin/traffic"
)

// fig10 is paper 003's figure 10 (000: figure 6). Links but R0-R2 (155 Mbit/s) have 100 Mbit/s, all have 10 ms.
func fig10(name string, loss float64, paths ...path) mesh {
	m := mesh{name: "fig10 " + name, paths: paths, loss: loss, peak: 10e6, links: map[string]meshLink{"R0R2": {155e6, 10}}}
	for _, l := range []string{"R2R3", "R3R1", "R2R4", "R4R1", "R0R5", "R5R6", "R6R7", "R7R1"} {
		m.links[l] = meshLink{100e6, 10}
	}
	return m
}

var (
	short1 = path{"R0R2", "R2R4", "R4R1"}
	short2 = path{"R0R2", "R2R3", "R3R1"}
	long   = path{"R0R5", "R5R6", "R6R7", "R7R1"}
)

// partial is figures 10 and 11: paths that share a link, explicit LSPs, a changed metric.
func (m *memo) partial(paper string) Experiment {
	e := Experiment{ID: paper + "-partial", Title: "Partial and explicit paths: 100, 155 and 255 Mbit/s of bottleneck"}
	single := func(loss float64) mesh { return fig10(fmt.Sprint("single", loss), loss, short1) }
	ecmp := fig10("ecmp", 0, short1, short2)
	// ECMP after the metric change gives R0's two next hops every second packet, and R2 halves its half again.
	lsps := func(loss float64) mesh { return fig10(fmt.Sprint("lsps", loss), loss, short1, short2, long) }
	tuned := func(loss float64) mesh {
		return fig10(fmt.Sprint("tuned", loss), loss, short1, long, short2, long)
	}
	add := func(key string, t mesh, loss float64, s scheme) {
		e.Cases = append(e.Cases, Case{Name: key, Quick: key == "lsp3", Run: func(r *Recorder) error {
			v, err := m.relative(r, t, single(loss), s)
			r.Set(key, v)
			return err
		}})
	}
	gain := "the gain of one topology in another simulator's TCP, with unstated buffers and delays: 30 % of the ratio"
	row := func(key, what string, v float64, note string) {
		e.Rows = append(e.Rows, score.Row{Key: key, Item: pick(paper == "003", "Fig. 10", "Fig. 6"), What: what, Unit: "times", Paper: v, Relative: 0.3, Rationale: gain, Explanation: note})
	}
	add("modified", ecmp, 0, modified)
	add("threshold", ecmp, 0, raised)
	add("lsp2", ecmp, 0, flowLevel)
	add("lsp3", lsps(0), 0, flowLevel)
	why := "the bottleneck grows from 100 to 155 (255) Mbit/s, of which 50 are background: at most 2.1 and 4.1 times"
	row("modified", "ECMP, modified delayed ACK", 1.8, why)
	row("threshold", "ECMP, threshold 6", 1.94, why)
	row("lsp2", "flow-level, two LSPs", 2.1, why)
	row("lsp3", "flow-level, three LSPs", 3.8, why+"; equal shares by hash fill the 155 Mbit/s link with two thirds of the flows")
	for i, t := range []mesh{single(0), ecmp, lsps(0)} {
		key, want := fmt.Sprint("bottleneck ", i+1), []float64{100, 155, 255}[i]
		e.Cases = append(e.Cases, Case{Name: key, Run: func(r *Recorder) error {
			rate, err := t.capacity(r, pick(i == 1, engine.RoundRobin, engine.FlowHash))
			r.Set(key, rate/1e6)
			return err
		}})
		e.Rows = append(e.Rows, score.Row{Key: key, Item: pick(paper == "003", "Fig. 10", "Fig. 6"), What: pick(i == 1, "bottleneck by ECMP, two paths", fmt.Sprintf("bottleneck, explicit paths: %d", i+1)), Unit: "Mbit/s", Paper: want, Relative: 0.01,
			Rationale: "arithmetic of rates; a hundredth for packets under way"})
	}
	if paper != "003" {
		return e
	}
	add("integrated", ecmp, 0, integrated)
	row("integrated", "ECMP, integrated", 1.8, why)
	for _, loss := range lossRates {
		tag := fmt.Sprintf(" tuned %g", loss)
		for _, s := range []scheme{standard, raised, modified, integrated} {
			add(s.name+tag, tuned(loss), loss, s)
		}
		add("lsp2"+tag, fig10(fmt.Sprint("two", loss), loss, short1, short2), loss, flowLevel)
		add("lsp3"+tag, lsps(loss), loss, flowLevel)
	}
	e.Derive = fig11
	e.Rows = append(e.Rows, fig11Rows()...)
	return e
}

// fig11Rows are the statements of section IV-C about the bars.
func fig11Rows() []score.Row {
	shape := "direction of a bar chart: 1 is true"
	metric := "half the metric of R0-R2 makes the two short paths cheaper still (2.5 to 4 hops); twice it makes all three equal. Three equal paths, as the text goes on, are taken"
	tuning := "in the twin the three paths after the metric change differ by 10 ms in 30, which a threshold of 6 does not cover"
	return []score.Row{
		{Key: "all beat standard", Item: "Fig. 11", What: "metric changed: every modification beats the standard", Paper: 1, Op: score.AtLeast, Rationale: shape, Caveat: metric},
		{Key: "all beat two", Item: "Fig. 11", What: "metric changed: every modification beats two LSPs", Paper: 1, Op: score.AtLeast, Rationale: shape, Explanation: tuning, Caveat: metric},
		{Key: "three is most", Item: "Fig. 11", What: "three LSPs, flow-level, are the most", Paper: 1, Op: score.AtLeast, Rationale: shape},
		{Key: "three is most lossy", Item: "Fig. 11", What: "the same with loss 0.001", Paper: 1, Op: score.AtLeast, Rationale: shape},
		{Key: "threshold beats ack lossy", Item: "Fig. 11", What: "with loss, a raised threshold beats modified delayed ACK", Paper: 1, Op: score.AtLeast, Rationale: shape},
		{Key: "integrated beats ack lossy", Item: "Fig. 11", What: "with loss, the integrated scheme beats modified delayed ACK", Paper: 1, Op: score.AtLeast, Rationale: shape, Explanation: halved},
	}
}

func fig11(v score.Values) {
	if _, ok := v["lsp3 tuned 0.001"]; !ok {
		return
	}
	truth := func(key string, yes bool) { v[key] = pick(yes, 1.0, 0.0) }
	least := min(v["threshold tuned 0"], v["modified tuned 0"], v["integrated tuned 0"])
	truth("all beat standard", least > v["non-delayed tuned 0"])
	truth("all beat two", least > v["lsp2 tuned 0"])
	for _, tag := range []string{"", " lossy"} {
		loss := pick(tag == "", " tuned 0", " tuned 0.001")
		truth("three is most"+tag, v["lsp3"+loss] > max(v["threshold"+loss], v["modified"+loss], v["integrated"+loss], v["lsp2"+loss]))
	}
	truth("threshold beats ack lossy", v["threshold tuned 0.001"] > v["modified tuned 0.001"])
	truth("integrated beats ack lossy", v["integrated tuned 0.001"] > v["modified tuned 0.001"])
}

// capacity is what datagrams at half the rate of every access link get
// through, bit/s: the bottleneck between R0 and R1.
func (m mesh) capacity(r *Recorder, spread engine.Spread) (float64, error) {
	n := engine.New(2)
	b := &meshBuilder{Net: n, mesh: m, ports: map[string]int{}}
	for node := range 10 {
		there, _ := b.leaf(spread, node)
		// Poisson and not at the full rate, so that no source has the good luck to come always after a departure.
		if _, err := n.AddSource(engine.SourceConfig{Name: "flood", Pattern: traffic.Pattern{Kind: traffic.Poisson, Gap: 500 * 8 / 50e6}, Size: 500, Stop: engine.Never, Forward: there}); err != nil {
			return 0, err
		}
	}
	if b.err != nil {
		return 0, b.err
	}
	if err := r.Play(n, 3); err != nil {
		return 0, err
	}
	sum := 0.0
	for i := range 10 {
		_, series, _ := n.Source(i)
		sum += series.Mean(1, 3)
	}
	return sum, nil
}
