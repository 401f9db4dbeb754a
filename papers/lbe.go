package papers

import (
	"fmt"

	"github.com/millrace/millrace/internal/shares"
	"github.com/millrace/millrace/papers/score"
	"github.com/millrace/millrace/services/twin/discipline"
	"github.com/millrace/millrace/services/twin/engine"
	"github.com/millrace/millrace/services/twin/tcp"
	"github.com/millrace/millrace/services/twin/traffic"
)

// Paper 004: an STM-16 interface whose 50 % the paper calls 1.17 Gbit/s, behind STM-64 links.
const (
	stm16 = 2.34e9
	stm64 = 9.6e9
)

// Queues in the order of tables 1 and 2.
const (
	queueBE uint8 = iota
	queueEF
	queueLBE
	queueNC
)

// wrr is a table of section 4.2. The paper states no buffers: each
// queue has 20 ms at the link rate, and LBE one millisecond.
func wrr(weights [4]uint64, lbePriority uint8) *discipline.Config {
	c := &discipline.Config{Excess: shares.Equal}
	for i, w := range weights {
		q := discipline.Queue{Weight: w, Limit: int64(stm16 / 8 * 0.020)}
		if uint8(i) == queueLBE {
			q.Priority, q.Limit = lbePriority, int64(stm16/8*0.001)
		}
		c.Queues = append(c.Queues, q)
	}
	return c
}

func table1() *discipline.Config { return wrr([4]uint64{5, 90, 1, 4}, 0) }
func table2() *discipline.Config { return wrr([4]uint64{5, 90, 0, 5}, 1) }

// bothHigh is section 5.2's: table 2 with LBE of high priority too.
func bothHigh() *discipline.Config { return wrr([4]uint64{5, 90, 0, 5}, 0) }

// geant is a generator in Frankfurt, the core, and the congested STM-16 port in Milan.
type geant struct {
	*engine.Net
	core, out int
	stripes   []int
	err       error
}

// newGeant builds it; with stripes the port in Milan is striped packet by packet over that many engines, as the M160
// forwards one fast interface over four.
func newGeant(queues *discipline.Config, stripes int) *geant {
	g := &geant{Net: engine.New(4)}
	add := func(c engine.PortConfig) int {
		n, err := g.AddPort(c)
		if g.err == nil {
			g.err = err
		}
		return n
	}
	g.core = add(engine.PortConfig{Name: "DE-IT", Rate: stm64, Delay: 5 * engine.Second / 1000})
	for range stripes {
		c := *queues
		g.stripes = append(g.stripes, add(engine.PortConfig{Name: "stripe", Rate: stm16 / float64(stripes), Queues: &c}))
	}
	if stripes > 0 {
		queues = nil
	}
	g.out = add(engine.PortConfig{Name: "IT", Rate: stm16, Queues: queues})
	return g
}

func (g *geant) route(access float64, queue uint8) engine.Route {
	in, err := g.AddPort(engine.PortConfig{Name: "access", Rate: access, Delay: engine.Second / 100_000})
	if g.err == nil {
		g.err = err
	}
	hops := []engine.Hop{engine.At(in), engine.At(g.core)}
	last := engine.At(g.out)
	if g.stripes == nil {
		last.Queue = queue
		return engine.Route{Hops: append(hops, last)}
	}
	r := engine.Route{Hops: hops}
	for _, stripe := range g.stripes {
		h := engine.At(stripe)
		h.Queue = queue
		r.Split = append(r.Split, engine.Branch{Route: engine.Route{Hops: []engine.Hop{h, last}}})
	}
	return r
}

// stream adds one of a generator's streams: rate of the STM-16 in percent.
func (g *geant) stream(kind traffic.Kind, queue uint8, size int32, percent, seconds float64) int {
	n, err := g.AddSource(engine.SourceConfig{
		Name: fmt.Sprintf("queue %d", queue), Pattern: traffic.Pattern{Kind: kind, Gap: float64(size) * 8 / (percent / 100 * stm16)},
		Size: size, Start: engine.Time(len(g.stripes)+int(size)) * 1000, Stop: engine.Seconds(seconds), Forward: g.route(stm64, queue),
	})
	if g.err == nil {
		g.err = err
	}
	return n
}

func (g *geant) play(r *Recorder, seconds float64) error {
	if g.err != nil {
		return g.err
	}
	return r.Play(g.Net, seconds)
}

// losses in percent of what sources sent.
func (g *geant) losses(sources ...int) float64 {
	var sent, lost int64
	for _, s := range sources {
		c, _, _ := g.Source(s)
		sent, lost = sent+c.Sent, lost+c.Lost
	}
	return 100 * float64(lost) / float64(sent)
}

// lbe is paper 004: Chown and others.
func lbe() []Experiment { return []Experiment{lbeIdle(), lbeCongestion(), lbeTCP(), lbeOrder()} }

// congestedFlag is the contradiction between two statements of the paper about its loads.
const congestedFlag = "figure 7 calls 98 % of load \"without congestion\" and figure 9 95 %, while section 5.1 adds 50 to 100 Mbit/s of production traffic and 210 Mbit/s of TCP to every load, which with 88 % fill the link; the twin follows section 5.1"

func lbeCongestion() Experiment {
	e := Experiment{ID: "004-congestion", Title: "Three LBE streams and one BE stream fill an STM-16 (section 5.3)"}
	e.Cases = append(e.Cases, Case{Name: "80 %", Run: func(r *Recorder) error { return congested(r, 80) }})
	for _, load := range []float64{95, 96, 97, 98, 99, 100} {
		e.Cases = append(e.Cases, Case{Name: fmt.Sprintf("%g %%", load), Quick: load == 100, Run: func(r *Recorder) error { return congested(r, load) }})
		e.Rows = append(e.Rows, score.Row{Key: fmt.Sprintf("BE %g", load), Item: "Fig. 5", What: fmt.Sprintf("BE loss at %g %%", load), Unit: "%", Paper: 0, Absolute: 0, Rationale: "the paper says always null"})
	}
	e.Rows = append(e.Rows,
		score.Row{Key: "LBE 100", Item: "Fig. 5", What: "LBE loss at 100 %", Unit: "% of all packets", Paper: 3, Op: score.AtLeast, Rationale: "the paper: can exceed 3 %"},
		score.Row{Key: "LBE rises", Item: "Fig. 5", What: "LBE loss grows with every step of load", Paper: 1, Op: score.AtLeast, Rationale: "shape of a plot: 1 is true"},
		score.Row{Key: "EF 100", Item: "section 5.3", What: "Premium IP loss at 100 %", Unit: "%", Paper: 0, Absolute: 0, Rationale: "the paper says none", Caveat: "figure 6 has ten streams of which seven are LBE, three BE and one Premium, which is eleven"},
		score.Row{Key: "LBE spread", Item: "section 5.3", What: "LBE one-way delay, max - min, 100 %", Unit: "ms", Paper: 1.865, Relative: 0.5, Rationale: "buffer over rate, and the buffer is not stated: half either way"},
		score.Row{Key: "BE spread", Item: "section 5.3", What: "BE one-way delay, max - min, 100 %", Unit: "ms", Paper: 0.537, Relative: 0.9, Rationale: "the burstiness of traffic the paper does not describe", Caveat: `printed as "LBE" a second time`,
			Explanation: "in the twin BE waits for one LBE packet and its own production bursts only; the paper's M160 had other waits, or its TCP bursts were larger"},
		score.Row{Key: "LBE mean", Item: "section 5.4", What: "LBE mean delay, rise under congestion", Unit: "ms", Caveat: congestedFlag, Paper: 1, Op: score.AtMost, Rationale: "the paper: less than 1 ms. Revised after a first result: the rise was first taken from 95 %, which with production traffic and TCP is above the link rate already; it is from 80 % since", Explanation: "a full LBE buffer of 1 ms of line waits longer than 1 ms where LBE gets less than the link; the paper's congestion came and went"},
		score.Row{Key: "BE mean", Item: "section 5.3", What: "BE mean delay, rise under congestion", Unit: "ms", Paper: 0.1, Op: score.AtMost, Rationale: "the paper: almost negligible; a tenth of what it calls LBE's \"less than 1 ms\""},
		score.Row{Key: "LBE least", Item: "section 5.3", What: "LBE least delay, change under congestion", Unit: "ms", Paper: 0, Absolute: 0.01, Rationale: "the paper: constant; a packet's time", Caveat: congestedFlag, Explanation: "in the twin a port that is offered more than its speed keeps a full LBE buffer all the time"},
		score.Row{Key: "LBE most", Item: "section 5.3", What: "LBE largest delay grows under congestion, less none", Unit: "ms", Paper: 0.1, Op: score.AtLeast, Rationale: "shape of figure 7: the tail gets longer, visibly on its axis of milliseconds"},
		score.Row{Key: "fair 50", Item: "Fig. 6", What: "LBE stream's throughput over a BE stream's, 50 % of load", Paper: 1, Absolute: 0.01, Rationale: "the paper: comparable without congestion"},
		score.Row{Key: "fair EF 50", Item: "Fig. 6", What: "Premium IP stream's throughput over a BE stream's, 50 % of load", Paper: 1, Absolute: 0.01, Rationale: "the paper: comparable without congestion"},
		score.Row{Key: "fair 100", Item: "Fig. 6", What: "LBE stream's throughput over a BE stream's, 100 % of load", Paper: 0.99, Op: score.AtMost, Rationale: "the paper: only LBE is affected"},
		score.Row{Key: "fair EF 100", Item: "Fig. 6", What: "Premium IP stream's throughput over a BE stream's, 100 % of load", Paper: 1, Absolute: 0.01, Rationale: "the paper: only LBE is affected"},
		score.Row{Key: "IPDV same", Item: "Fig. 9", What: "mean LBE IPDV, 100 % over 80 %", Paper: 1, Relative: 0.5, Rationale: "shape: the two distributions are equivalent; the twin compares with 80 %, because with production traffic and TCP 95 % is above the link rate. Revised after a first result: the comparison was first with 95 %"})
	for _, load := range []float64{50, 100} {
		e.Cases = append(e.Cases, Case{Name: fmt.Sprintf("figure 6, %g %%", load), Quick: load == 50, Run: func(r *Recorder) error { return perFlow(r, load) }})
	}
	e.Derive = func(v score.Values) {
		v["LBE rises"] = 1
		for load := 97.0; load <= 100; load++ {
			a, b := v[fmt.Sprintf("LBE %g", load-1)], v[fmt.Sprintf("LBE %g", load)]
			if b < a {
				v["LBE rises"] = 0
			}
		}
		if _, all := v["LBE 96"]; !all {
			delete(v, "LBE rises")
		}
		if _, ok := v["mean 80"]; !ok {
			return
		}
		v["LBE mean"] = v["mean 100"] - v["mean 80"]
		v["BE mean"] = v["BE mean 100"] - v["BE mean 80"]
		v["LBE least"] = v["least 100"] - v["least 80"]
		v["LBE most"] = v["most 100"] - v["most 80"]
		v["IPDV same"] = v["ipdv 100"] / v["ipdv 80"]
	}
	return e
}

// congested adds to the generator's load the rest of section 5.1: 50 to 100 Mbit/s of production traffic
// and 210 Mbit/s of TCP.
func congested(r *Recorder, load float64) error {
	const seconds = 5
	g := newGeant(table2(), 0)
	be := g.stream(traffic.Constant, queueBE, 1000, load/4, seconds)
	var lbes []int
	for i := range 3 {
		lbes = append(lbes, g.stream(traffic.Constant, queueLBE, int32(1000+8*i), load/4, seconds))
	}
	ef := g.stream(traffic.Poisson, queueEF, 200, 0.5, seconds)
	g.stream(traffic.Poisson, queueBE, 1500, 75e6/stm16*100, seconds)
	for range 3 {
		if _, err := g.AddTCP(windowed(g, seconds)); err != nil {
			return err
		}
	}
	if err := g.play(r, seconds+0.5); err != nil {
		return err
	}
	key := fmt.Sprintf("%g", load)
	r.Set("BE "+key, g.losses(be))
	var sent, lost int64
	for _, s := range append(lbes, be) {
		c, _, _ := g.Source(s)
		sent += c.Sent
		lost += c.Lost
	}
	r.Set("LBE "+key, 100*float64(lost)/float64(sent))
	_, _, d := g.Source(lbes[0])
	s := d.Between(1, seconds)
	r.Set("mean "+key, s.Mean)
	r.Set("least "+key, s.Min)
	r.Set("most "+key, s.Max)
	_, _, ahead := g.Source(be)
	r.Set("BE mean "+key, ahead.Between(1, seconds).Mean)
	change := 0.0
	for i := 1; i < len(d.Took); i++ {
		change += max(float64(d.Took[i]-d.Took[i-1]), float64(d.Took[i-1]-d.Took[i]))
	}
	r.Set("ipdv "+key, change/float64(len(d.Took)))
	if load == 100 {
		_, _, b := g.Source(be)
		r.Set("EF 100", g.losses(ef))
		r.Set("LBE spread", s.Max-s.Min)
		bs := b.Between(1, seconds)
		r.Set("BE spread", bs.Max-bs.Min)
	}
	return nil
}

// perFlow is figure 6: streams of one rate, seven of them LBE, two BE and one Premium IP, which are ten; the paper's
// "seven, three and one" are eleven.
func perFlow(r *Recorder, load float64) error {
	const seconds = 3
	g := newGeant(table2(), 0)
	streams := map[uint8][]int{}
	for queue, count := range map[uint8]int{queueLBE: 7, queueBE: 2, queueEF: 1} {
		for i := range count {
			streams[queue] = append(streams[queue], g.stream(traffic.Constant, queue, int32(1000+8*i), load/10, seconds))
		}
	}
	g.stream(traffic.Poisson, queueBE, 1500, 75e6/stm16*100, seconds)
	if err := g.play(r, seconds); err != nil {
		return err
	}
	mean := func(queue uint8) float64 {
		sum := 0.0
		for _, s := range streams[queue] {
			_, series, _ := g.Source(s)
			sum += series.Mean(1, seconds) / float64(len(streams[queue]))
		}
		return sum
	}
	r.Set(fmt.Sprintf("fair %g", load), mean(queueLBE)/mean(queueBE))
	r.Set(fmt.Sprintf("fair EF %g", load), mean(queueEF)/mean(queueBE))
	return nil
}

// windowed is one of three TCP transfers that together make about 210 Mbit/s, held by 128 kB of window over 15 ms.
func windowed(g *geant, seconds float64) engine.TCPConfig {
	back, err := g.AddPort(engine.PortConfig{Name: "IT-DE", Rate: 1e9, Delay: 10 * engine.Second / 1000})
	if g.err == nil {
		g.err = err
	}
	return engine.TCPConfig{
		Name: "netperf", Config: tcp.Config{SACK: true, Window: 90}, Receiver: tcp.Delayed, Payload: 1460, Header: 40,
		Stop: engine.Seconds(seconds), Forward: g.route(1e9, queueBE), Back: engine.Route{Hops: []engine.Hop{engine.At(back)}},
	}
}

// lbeTCP is section 4.2: BE's TCP suffers under table 1 where BE's load is high, and not under table 2.
func lbeTCP() Experiment {
	e := Experiment{ID: "004-wrr", Title: "Weights and priorities, and what BE's TCP makes of them (section 4)"}
	for name, c := range map[string]struct {
		queues *discipline.Config
		lbe    float64
	}{"alone": {table2(), 0}, "table 1": {table1(), 60}, "table 2": {table2(), 60}} {
		e.Cases = append(e.Cases, Case{Name: name, Quick: true, Run: func(r *Recorder) error {
			const seconds = 4
			g := newGeant(c.queues, 0)
			g.stream(traffic.Poisson, queueBE, 1000, 55, seconds)
			if c.lbe > 0 {
				g.stream(traffic.Poisson, queueLBE, 1000, c.lbe, seconds)
			}
			var flows []int
			for range 3 {
				n, err := g.AddTCP(windowed(g, seconds))
				if err != nil {
					return err
				}
				flows = append(flows, n)
			}
			if err := g.play(r, seconds); err != nil {
				return err
			}
			sum := 0.0
			for _, f := range flows {
				sum += g.TCP(f).Series.Mean(1, seconds) / 1e6
			}
			r.Set(name, sum)
			return nil
		}})
	}
	e.Cases = append(e.Cases, Case{Name: "order of service", Quick: true, Run: wrrOrder})
	e.Derive = func(v score.Values) {
		v["table 1 kept"] = v["table 1"] / v["alone"]
		v["table 2 kept"] = v["table 2"] / v["alone"]
	}
	exact := "arithmetic of the four rules; 3 % are packets' lengths"
	e.Rows = []score.Row{
		{Key: "alone", Item: "section 5.1", What: "BE TCP beside BE load only", Unit: "Mbit/s", Paper: 210, Relative: 0.1, Rationale: "approximately 210 in the paper; the window is set for it"},
		{Key: "table 1 kept", Item: "table 1", What: "BE TCP under LBE congestion, part kept", Paper: 0.9, Op: score.AtMost, Rationale: "the paper: dropped; a tenth is the least one calls a drop"},
		{Key: "table 2 kept", Item: "table 2", What: "BE TCP under LBE congestion, part kept", Paper: 0.95, Op: score.AtLeast, Rationale: "the paper: no significant drop; 5 % is the spread of its figures"},
		{Key: "be1", Item: "section 4.1", What: "table 1, BE and LBE both above the link rate: BE", Unit: "% of link", Paper: 52, Relative: 0.03, Rationale: exact},
		{Key: "lbe1", Item: "section 4.1", What: "table 1, BE and LBE both above the link rate: LBE", Unit: "% of link", Paper: 48, Relative: 0.03, Rationale: exact},
		{Key: "be2", Item: "section 4.1", What: "table 2, BE and LBE both above the link rate: BE", Unit: "% of link", Paper: 100, Relative: 0.03, Rationale: exact},
		{Key: "lbe2", Item: "section 4.2", What: "table 2, BE above the link rate: LBE's byte per round", Unit: "% of link", Paper: 0, Absolute: 0.01, Rationale: exact},
	}
	return e
}

// wrrOrder offers 120 % each of BE and LBE: equal shares of what EF and NC leave, beside the guarantees.
func wrrOrder(r *Recorder) error {
	for i, queues := range []*discipline.Config{table1(), table2()} {
		g := newGeant(queues, 0)
		be, lbe := g.stream(traffic.Constant, queueBE, 1000, 120, 1.5), g.stream(traffic.Constant, queueLBE, 1000, 120, 1.5)
		if err := g.play(r, 1.5); err != nil {
			return err
		}
		_, b, _ := g.Source(be)
		_, l, _ := g.Source(lbe)
		r.Set(fmt.Sprintf("be%d", i+1), b.At(0)/stm16*100)
		r.Set(fmt.Sprintf("lbe%d", i+1), l.At(0)/stm16*100)
	}
	return nil
}
