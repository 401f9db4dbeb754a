package papers

import (
	"fmt"

	"github.com/millrace/millrace/papers/score"
	"github.com/millrace/millrace/services/twin/engine"
	"github.com/millrace/millrace/services/twin/traffic"
)

// lbeIdle is section 5.2: nothing is full.
func lbeIdle() Experiment {
	e := Experiment{ID: "004-idle", Title: "LBE and BE without congestion (section 5.2)"}
	for i, size := range []int32{128, 256, 384, 512, 640, 768, 896, 1024, 1152, 1280, 1408} {
		key := fmt.Sprintf("loss %d", size)
		e.Cases = append(e.Cases, Case{Name: key, Quick: i > 8, Run: func(r *Recorder) error {
			worst := 0.0
			for _, percent := range []float64{10, 15, 20} {
				g := newGeant(table2(), 0)
				s := g.stream(traffic.Constant, queueLBE, size, percent, 2)
				g.stream(traffic.Poisson, queueBE, 1000, 4, 2) // production traffic
				if err := g.play(r, 2.1); err != nil {
					return err
				}
				worst = max(worst, g.losses(s))
			}
			r.Set(key, worst)
			return nil
		}})
		e.Rows = append(e.Rows, score.Row{Key: key, Item: "section 5.2", What: fmt.Sprintf("LBE loss, 10-20 %%, %d bytes", size), Unit: "%", Paper: 0, Absolute: 0, Rationale: "nothing is full"})
	}
	idleHalf(&e)
	idleSpread(&e)
	byItem(e.Rows)
	return e
}

// idleHalf is either class at half the link.
func idleHalf(e *Experiment) {
	for name, queue := range map[string]uint8{"LBE": queueLBE, "BE": queueBE} {
		e.Cases = append(e.Cases, Case{Name: name + " 50 %", Run: func(r *Recorder) error {
			g := newGeant(table2(), 0)
			s := g.stream(traffic.Constant, queue, 60, 50, 2)
			g.stream(traffic.Poisson, queueBE, 1000, 4, 2)
			if err := g.play(r, 2.1); err != nil {
				return err
			}
			r.Set(name+"50", g.losses(s))
			_, series, _ := g.Source(s)
			r.Set(name+"rate", series.Mean(0, 2)/1e9)
			return nil
		}})
		e.Rows = append(e.Rows, score.Row{Key: name + "50", Item: "section 5.2", What: name + " loss, 50 %, 60 bytes", Unit: "%", Paper: 0, Absolute: 0, Rationale: "nothing is full"},
			score.Row{Key: name + "rate", Item: "section 5.2", What: name + " throughput at 50 %", Unit: "Gbit/s", Paper: 1.17, Relative: 0.01, Rationale: "what is offered arrives"})
	}
}

// idleSpread is how far delays change and spread.
func idleSpread(e *Experiment) {
	e.Cases = append(e.Cases, Case{Name: "IPDV", Quick: true, Run: func(r *Recorder) error {
		worst, lbeWorst, spreads := 0.0, 0.0, map[string]float64{}
		for _, percent := range []float64{10, 30, 50} {
			g := newGeant(table2(), 0)
			be := g.stream(traffic.Constant, queueBE, 512, percent/2, 1)
			lbe := g.stream(traffic.Constant, queueLBE, 512, percent/2, 1)
			g.stream(traffic.Poisson, queueBE, 1500, 3, 1)
			if err := g.play(r, 1.1); err != nil {
				return err
			}
			_, _, d := g.Source(be)
			_, _, l := g.Source(lbe)
			worst = max(worst, float64(d.MostChange)*1e6/float64(engine.Second))
			lbeWorst = max(lbeWorst, float64(l.MostChange)*1e6/float64(engine.Second))
			spreads["BE spread"] = max(spreads["BE spread"], float64(d.Most-d.Least)*1e3/float64(engine.Second))
			spreads["LBE spread"] = max(spreads["LBE spread"], float64(l.Most-l.Least)*1e3/float64(engine.Second))
		}
		r.Set("ipdv", worst)
		r.Set("ipdv lbe", lbeWorst)
		for key, v := range spreads {
			r.Set(key, v)
		}
		return nil
	}})
	e.Rows = append(e.Rows, score.Row{Key: "ipdv", Item: "section 5.2", What: "largest IPDV of the BE stream", Unit: "us", Paper: 11, Relative: 1,
		Rationale: "one or two packets of production traffic in the way, 5 us each; how many met in the paper's 100 packets is chance"},
		score.Row{Key: "ipdv lbe", Item: "section 5.2", What: "largest IPDV of the LBE stream", Unit: "us", Paper: 22, Op: score.AtMost,
			Rationale: "the paper: comparable for the two classes, and BE's 11 us the largest; twice that is what BE's own row allows", Explanation: "LBE waits for whole bursts of the production traffic, whose lengths the paper does not describe; Poisson arrivals of full packets at 3 % of the link make the longest of some 20,000 waits five packets"},
		score.Row{Key: "BE spread", Item: "Fig. 3", What: "BE one-way delay, max - min", Unit: "ms", Paper: 0.05, Op: score.AtMost, Rationale: "plot: almost negligible at every load; a twentieth of a millisecond is ten full packets"},
		score.Row{Key: "LBE spread", Item: "Fig. 3", What: "LBE one-way delay, max - min", Unit: "ms", Paper: 0.05, Op: score.AtMost, Rationale: "plot: almost negligible at every load; a twentieth of a millisecond is ten full packets"})
}
