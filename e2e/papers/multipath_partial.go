package papers

import (
	"fmt"

	"github.com/millrace/millrace/e2e/papers/score"
)

// fig10 is paper 003's figure 10 (000: figure 6). Links but R0-R2 (155 Mbit/s) have 100 Mbit/s, all have 10 ms.
func fig10(name string, loss float64, weights []int, ways ...way) mesh {
	m := mesh{name: "fig10 " + name, ways: ways, weights: weights, loss: loss, peak: 10e6, seconds: 13, links: map[string]meshLink{"R0R2": {155e6, 10}}}
	for _, l := range []string{"R2R3", "R3R1", "R2R4", "R4R1", "R0R5", "R5R6", "R6R7", "R7R1"} {
		m.links[l] = meshLink{100e6, 10}
	}
	return m
}

var (
	short1 = way{"R0R2", "R2R4", "R4R1"}
	short2 = way{"R0R2", "R2R3", "R3R1"}
	long   = way{"R0R5", "R5R6", "R6R7", "R7R1"}
)

// partial is figures 10 and 11: paths that share a link, explicit LSPs, a changed metric.
func (m *memo) partial(paper string) Experiment {
	e := Experiment{ID: paper + "-partial", Title: "Partial and explicit paths: 100, 155 and 255 Mbit/s of bottleneck"}
	single := func(loss float64) mesh { return fig10(fmt.Sprint("single", loss), loss, nil, short1) }
	ecmp := fig10("ecmp", 0, nil, short1, short2)
	// Three LSPs in proportion to what each can carry: 155 Mbit/s over two, 100 over the third. ECMP after the
	// metric change gives R0's two next hops half each, and R2 halves its half again.
	lsps := func(loss float64) mesh { return fig10(fmt.Sprint("lsps", loss), loss, nil, short1, short2, long) }
	tuned := func(loss float64) mesh {
		return fig10(fmt.Sprint("tuned", loss), loss, []int{1, 1, 2}, short1, short2, long)
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
		e.Rows = append(e.Rows, score.Row{Key: key, Item: pick(paper == "003", "Fig. 10", "Fig. 6"), What: what, Unit: "times", Paper: v, Relative: 0.3, Why: gain, Note: note})
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
		add("lsp2"+tag, fig10(fmt.Sprint("two", loss), loss, nil, short1, short2), loss, flowLevel)
		add("lsp3"+tag, lsps(loss), loss, flowLevel)
	}
	e.Derive = fig11
	shape := "direction of a bar chart: 1 is true"
	tuning := "in the twin the three paths after the metric change differ by 10 ms in 30, which a threshold of 6 does not cover"
	e.Rows = append(e.Rows,
		score.Row{Key: "all beat standard", Item: "Fig. 11", What: "metric changed: every modification beats the standard", Paper: 1, Op: score.AtLeast, Why: shape},
		score.Row{Key: "all beat two", Item: "Fig. 11", What: "metric changed: every modification beats two LSPs", Paper: 1, Op: score.AtLeast, Why: shape, Note: tuning},
		score.Row{Key: "three is most", Item: "Fig. 11", What: "three LSPs, flow-level, are the most", Paper: 1, Op: score.AtLeast, Why: shape},
		score.Row{Key: "three is most lossy", Item: "Fig. 11", What: "the same with loss 0.001", Paper: 1, Op: score.AtLeast, Why: shape},
		score.Row{Key: "threshold beats ack lossy", Item: "Fig. 11", What: "with loss, threshold-based methods beat modified delayed ACK", Paper: 1, Op: score.AtLeast, Why: shape})
	return e
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
}

// vbns is figures 12 and 13 (000: 7 and 8). The figure with the topology is not in the text: two disjoint ways of
// three OC-12 links are taken, of 22 and 26 ms, which is San Francisco to Washington by the north and by the south.
func (m *memo) vbns(paper string) Experiment {
	e := Experiment{ID: paper + "-vbns", Title: "San Francisco to Washington over the vBNS under three loads"}
	network := func(ways int, peak float64) mesh {
		n := way{"SF-Denver", "Denver-Chicago", "Chicago-DC"}
		s := way{"SF-LA", "LA-Houston", "Houston-DC"}
		return mesh{name: fmt.Sprintf("vbns %d %g", ways, peak), ways: []way{n, s}[:ways], peak: peak, seconds: 9, links: map[string]meshLink{
			"SF-Denver": {622e6, 7}, "Denver-Chicago": {622e6, 7}, "Chicago-DC": {622e6, 8},
			"SF-LA": {622e6, 4}, "LA-Houston": {622e6, 11}, "Houston-DC": {622e6, 11},
		}}
	}
	schemes := []scheme{standard, delayed, modified, raised, flowLevel}
	if paper == "003" {
		schemes = append(schemes, integrated)
	}
	peaks := []float64{30e6, 60e6, 70e6}
	for _, peak := range peaks {
		for _, s := range schemes {
			key := fmt.Sprintf("%s %g", s.name, peak/1e6)
			e.Cases = append(e.Cases, Case{Name: key, Run: func(r *Recorder) error {
				v, err := m.relative(r, network(2, peak), network(1, peak), s)
				r.Set(key, 100*(v-1))
				return err
			}})
		}
	}
	for _, c := range []struct {
		s    scheme
		want [3]float64
	}{{modified, [3]float64{43, 82, 94}}, {raised, [3]float64{56, 82, 92}}, {integrated, [3]float64{57, 84, 95}}, {flowLevel, [3]float64{61, 111, 122}}} {
		if c.s == integrated && paper != "003" {
			continue
		}
		for i, peak := range peaks {
			e.Rows = append(e.Rows, score.Row{Key: fmt.Sprintf("%s %g", c.s.name, peak/1e6), Item: pick(paper == "003", "Fig. 13", "Fig. 8"), What: fmt.Sprintf("%s, background peak %g Mbit/s: gain", c.s.name, peak/1e6), Unit: "%",
				Paper: c.want[i], Relative: 0.35, Why: "the topology's figure is not in the text; a third of the gain is what another choice of delays makes"})
		}
	}
	for _, s := range []scheme{standard, delayed} {
		e.Rows = append(e.Rows, score.Row{Key: s.name + " 30", Item: pick(paper == "003", "Fig. 13", "Fig. 8"), What: s.name + " ACK over two paths, light load: below a single path", Unit: "%", Paper: 0, Op: score.AtMost, Why: "the paper: even lower than that of a single path"})
	}
	return e
}
