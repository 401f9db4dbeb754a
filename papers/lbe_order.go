package papers

import (
	"fmt"

	"github.com/millrace/millrace/papers/score"
	"github.com/millrace/millrace/services/twin/discipline"
	"github.com/millrace/millrace/services/twin/traffic"
)

// lbeOrder is section 5.3.
func lbeOrder() Experiment {
	e := Experiment{ID: "004-order", Title: "Out-of-sequence packets on a router that forwards over four engines (section 5.3)"}
	type point struct {
		name   string
		queues *discipline.Config
		part   float64 // the stream's part of the load
		load   float64
		beLoad float64
	}
	points := []point{
		{"high 96", table1(), 1. / 6, 96, 50}, {"high 104", table1(), 1. / 6, 104, 50},
		{"low 96", table1(), 1. / 100, 96, 50}, {"low 104", table1(), 1. / 100, 104, 50},
		{"split 104", table2(), 1. / 6, 104, 50},
		{"split BE 20", table2(), 1. / 20, 100, 20}, {"split BE 50", table2(), 1. / 20, 100, 50}, {"split BE 80", table2(), 1. / 20, 100, 80},
	}
	for _, p := range points {
		e.Cases = append(e.Cases, Case{Name: p.name, Run: func(r *Recorder) error {
			g := newGeant(p.queues, 4)
			s := g.stream(traffic.Constant, queueBE, 512, p.part*p.load, 2)
			g.stream(traffic.Poisson, queueBE, 700, max(p.beLoad-p.part*p.load, 1), 2)
			g.stream(traffic.Poisson, queueLBE, 900, p.load-p.beLoad, 2)
			if err := g.play(r, 2.1); err != nil {
				return err
			}
			c, _, _ := g.Source(s)
			r.Set(p.name, 100*float64(c.OutOfOrder)/float64(c.Received))
			return nil
		}})
	}
	for _, p := range []struct {
		size int32
		load float64
	}{{128, 10}, {128, 20}, {512, 20}, {1408, 20}} {
		name := fmt.Sprintf("size %d %g", p.size, p.load)
		e.Cases = append(e.Cases, Case{Name: name, Run: func(r *Recorder) error {
			g := newGeant(bothHigh(), 4)
			s := g.stream(traffic.Constant, queueLBE, p.size, p.load, 1)
			g.stream(traffic.Poisson, queueBE, 1000, 4, 1) // production traffic
			if err := g.play(r, 1.1); err != nil {
				return err
			}
			c, _, _ := g.Source(s)
			r.Set(name, 100*float64(c.OutOfOrder)/float64(c.Received))
			return nil
		}})
	}
	e.Derive = orderDirections
	e.Rows = orderRows()
	return e
}

// orderDirections compares what figures 4, 10 and 11 compare.
func orderDirections(v score.Values) {
	if _, ok := v["high 104"]; !ok {
		return
	}
	truth := func(key string, yes bool) { v[key] = pick(yes, 1.0, 0.0) }
	truth("congestion", v["high 104"] > v["high 96"])
	truth("rate", v["high 104"] > v["low 104"] && v["high 96"] > v["low 96"])
	truth("linear", v["split BE 20"] < v["split BE 50"] && v["split BE 50"] < v["split BE 80"])
	truth("priority", v["split 104"] < v["high 104"])
	truth("frame size", v["size 128 20"] > v["size 512 20"] && v["size 512 20"] > v["size 1408 20"])
	truth("packet rate", v["size 128 20"] > v["size 128 10"])
}

func orderRows() []score.Row {
	shape := "direction of a plot: 1 is true"
	return []score.Row{
		{Key: "high 104", Item: "Fig. 10", What: "out of order, equal priority, congestion, stream of 1/6 of the load", Unit: "%", Paper: 80, Op: score.AtLeast, Rationale: "the paper: can exceed 80 %",
			Explanation: "the M160's insides are modelled by four engines with a packet each in turn and nothing more"},
		{Key: "low 96", Item: "Fig. 10", What: "out of order, equal priority, no congestion, stream of 1/100 of the load", Unit: "%", Paper: 1, Op: score.AtMost, Rationale: "plot: for low-rate flows only in case of congestion; 1 % is the least its axis of 80 % shows"},
		{Key: "low 104", Item: "Fig. 10", What: "out of order, equal priority, congestion, stream of 1/100 of the load", Unit: "%", Paper: 5, Op: score.AtMost, Rationale: "the paper: a negligible percentage; a twentieth of its axis"},
		{Key: "frame size", Item: "Fig. 4", What: "short packets are more out of order than long ones at one load", Paper: 1, Op: score.AtLeast, Rationale: shape},
		{Key: "packet rate", Item: "Fig. 4", What: "more out of order at twice the packet rate", Paper: 1, Op: score.AtLeast, Rationale: shape},
		{Key: "congestion", Item: "Fig. 10", What: "more out of order with congestion than without", Paper: 1, Op: score.AtLeast, Rationale: shape},
		{Key: "rate", Item: "Fig. 10", What: "more out of order in a fast stream than in a slow one", Paper: 1, Op: score.AtLeast, Rationale: shape},
		{Key: "priority", Item: "Fig. 10, 11", What: "less out of order when LBE has the lower priority", Paper: 1, Op: score.AtLeast, Rationale: shape},
		{Key: "linear", Item: "Fig. 11", What: "different priorities: grows with the load of its class", Paper: 1, Op: score.AtLeast, Rationale: shape,
			Explanation: "with different priorities BE never waits for LBE, and four engines that each take a packet in turn stay in step at every BE load; what the M160 reorders inside is not described"},
	}
}
