package papers

import (
	"fmt"

	"github.com/millrace/millrace/papers/liman"
	"github.com/millrace/millrace/papers/score"
	alphasvc "github.com/millrace/millrace/services/alpha"
	"github.com/millrace/millrace/services/alpha/detect"
	"github.com/millrace/millrace/services/twin/engine"
)

// hntes is paper 002: Yan and others, IARIA IJAIT 6(3&4), 2013.
func hntes() []Experiment {
	return []Experiment{hntesIdentification(), hntes1(), hntes2(), hntes3(), hntes4(), hntes5Similar(), hntes5Different(), hntes6(), hntes7()}
}

// two makes the paper's queues: alpha medium-high, beta medium-low.
func two(alpha, beta float64) []liman.Queue {
	return []liman.Queue{{Rate: alpha, Buffer: alpha, Priority: 2}, {Rate: beta, Buffer: beta, Priority: 3}}
}

func three(alpha, beta, scavenger float64) []liman.Queue {
	return append(two(alpha, beta), liman.Queue{Rate: scavenger, Buffer: scavenger, Priority: 4})
}

const (
	alpha = uint8(0)
	beta  = uint8(1)
)

// hntesIdentification has the paper's numbers about traffic that only its authors have.
func hntesIdentification() Experiment {
	note := "needs ESnet's NetFlow records, which are not public; services/alpha computes the same report from an operator's own flows"
	row := func(key, what string, v float64) score.Row {
		return score.Row{Key: key, Item: "section II", What: what, Unit: "%", Paper: v, Absolute: 2, Rationale: "a property of the trace, not of a network", Explanation: note}
	}
	definition := func(key, what, unit string, v float64) score.Row {
		return score.Row{Key: key, Item: "section II", What: what, Unit: unit, Paper: v, Absolute: 0, Rationale: "a definition: what the product does unless configured otherwise"}
	}
	rule := Case{Name: "rule", Quick: true, Run: func(r *Recorder) error {
		d := detect.DefaultRule()
		r.Set("bytes", float64(d.MinBytes)/1e9)
		r.Set("interval", d.Interval.Minutes())
		r.Set("aging", d.AgeAfter.Hours()/24)
		r.Set("window", alphasvc.DefaultConfiguration().Window.Hours())
		return nil
	}}
	return Experiment{ID: "002-identification", Title: "Alpha flows found by the prefix pairs of earlier days", Cases: []Case{rule}, Rows: []score.Row{
		definition("bytes", "H, more than which a flow is alpha", "GB", 1), definition("interval", "within", "min", 1),
		definition("aging", "prefixes are forgotten after", "days", 30), definition("window", "flows are looked at every", "h", 24),
		row("p24", "alpha bytes identified, /24, 7 months", 94), row("p32", "alpha bytes identified, /32, 7 months", 82),
		row("hpsr12", "HPSR'12: 2 months, /24, more than", 94), row("short", "HPSR'12: 5-tuple alpha flows shorter than 2 min", 80),
		row("hpsr13", "HPSR'13: 4 routers, more than", 90),
		{Key: "setup", Item: "HPSR'12", What: "setting a circuit up takes about", Unit: "s", Paper: 60, Op: score.AtMost, Rationale: "a redirection that is faster is none the worse", Explanation: "the twin has no management plane; the lab's value is from commit to confirmation on the router"},
	}}
}

func hntes1() Experiment {
	e := Experiment{ID: "002-exp1", Title: "Buffer size and the two modes of sharing a link (section III-B)"}
	flood := func(b *liman.Testbed, queue uint8, seconds float64) int {
		ping := b.Ping("WA", "EA", queue, seconds)
		b.UDP("W1", "E1", queue, 7e9, 2, seconds)
		b.UDP("E2", "E1", queue, 7e9, 2, seconds)
		return ping
	}
	for _, share := range []float64{20, 100} {
		e.Cases = append(e.Cases, Case{Name: fmt.Sprintf("buffer %g %%", share), Quick: share == 20, Run: func(r *Recorder) error {
			b := liman.New(1, "WRER", []liman.Queue{{Rate: 100, Buffer: share}}, 0)
			ping := flood(b, 0, 6)
			if err := play(r, b, 6); err != nil {
				return err
			}
			_, _, d := b.Source(ping)
			r.Set("idle", d.Between(0, 2).Mean)
			r.Set(fmt.Sprintf("full%g", share), d.Between(0, 6).Max)
			r.Plot("Experiment 1, scenario 1: ping behind a filling buffer", "ms", fmt.Sprintf("buffer %g %%", share), delays(d))
			return nil
		}})
	}
	for _, share := range []float64{1, 20, 40, 60, 80, 100} {
		e.Cases = append(e.Cases, Case{Name: fmt.Sprintf("rate share %g %%", share), Run: func(r *Recorder) error {
			b := liman.New(1, "WRER", []liman.Queue{{Rate: share, Buffer: 100}}, 0)
			flood(b, 0, 8)
			if err := play(r, b, 2); err != nil {
				return err
			}
			before, _ := b.Port(b.Contended())
			if err := play(r, b, 8); err != nil {
				return err
			}
			after, _ := b.Port(b.Contended())
			r.Set(fmt.Sprintf("packets%g", share), float64(after.Packets-before.Packets)*10)
			return nil
		}})
	}
	e.Cases = append(e.Cases, Case{Name: "testbed", Quick: true, Run: testbed})
	e.Cases = append(e.Cases, hntes1Shares()...)
	e.Derive = func(v score.Values) {
		if _, ok := v["full100"]; ok {
			v["buffer"] = 10e9 * (v["full100"] - v["idle"]) / 1e3 / 8 / 1e6
		}
		v["strictrate"] = 125e6 * 0.2 * 8 / ((v["strict"] - v["idle"]) / 1e3) / 1e9
	}
	e.Rows = hntes1Rows()
	return e
}

// hntes1Shares is a queue of a fifth of the link that may not have the rest, and one that may.
func hntes1Shares() (cases []Case) {
	for name, strict := range map[string]bool{"strict": true, "conserving": false} {
		cases = append(cases, Case{Name: name, Quick: true, Run: func(r *Recorder) error {
			b := liman.New(1, "WRER", []liman.Queue{{Rate: 20, Buffer: 20, Strict: strict}}, 0)
			ping := b.Ping("WA", "EA", 0, 6)
			b.UDP("E2", "E1", 0, 3e9, 1, 6)
			if err := play(r, b, 6); err != nil {
				return err
			}
			_, _, d := b.Source(ping)
			r.Set(name, d.Between(3, 6).Mean)
			return nil
		}})
	}
	return cases
}

// testbed measures the idle paths, and what each of two floods gets.
func testbed(r *Recorder) error {
	b := liman.New(1, "WRER", []liman.Queue{{Rate: 100, Buffer: 20}}, 0)
	near, far := b.Ping("E2", "W1", 0, 1), b.Ping("E1", "W1", 0, 1)
	one := b.UDP("W1", "E1", 0, 7e9, 1, 3)
	other := b.UDP("E2", "E1", 0, 7e9, 1, 3)
	if err := play(r, b, 3); err != nil {
		return err
	}
	for key, ping := range map[string]int{"E2-W1": near, "E1-W1": far} {
		_, _, d := b.Source(ping)
		r.Set(key, d.Between(0, 0.9).Mean)
	}
	for key, flood := range map[string]int{"udp W1": one, "udp E2": other} {
		_, s, _ := b.Source(flood)
		r.Set(key, s.At(2)/1e9)
	}
	return nil
}

func hntes1Rows() []score.Row {
	delay := "delay is buffer over rate: only the printed digits can differ"
	half := "two equal floods share a first-in first-out port; the paper says approximately"
	rows := []score.Row{
		{Key: "E2-W1", Item: "III-F.1", What: "round trip E2-W1, idle", Unit: "ms", Paper: 1.98, Absolute: 0.03, Rationale: "set by the distances; 0.03 ms are what the ping's own packets take"},
		{Key: "E1-W1", Item: "III-F.1", What: "round trip E1-W1, idle", Unit: "ms", Paper: 2.23, Absolute: 0.03, Rationale: "set by the distances; 0.03 ms are what the ping's own packets take"},
		{Key: "udp W1", Item: "III-B.1", What: "received of the first flood of 7 Gbit/s", Unit: "Gbit/s", Paper: 5, Relative: 0.1, Rationale: half},
		{Key: "udp E2", Item: "III-B.1", What: "received of the second flood of 7 Gbit/s", Unit: "Gbit/s", Paper: 5, Relative: 0.1, Rationale: half},
		{Key: "idle", Item: "Fig. 3", What: "ping, idle", Unit: "ms", Paper: 2.1, Absolute: 0.05, Rationale: "set by the stated distances"},
		{Key: "full100", Item: "Fig. 3", What: "ping, buffer 100 %", Unit: "ms", Paper: 102, Relative: 0.02, Rationale: delay},
		{Key: "full20", Item: "Fig. 3", What: "ping, buffer 20 %", Unit: "ms", Paper: 22.2, Relative: 0.02, Rationale: delay},
		{Key: "buffer", Item: "eq. 1", What: "buffer by the paper's equation", Unit: "MB", Paper: 125, Relative: 0.02, Rationale: delay},
		{Key: "strict", Item: "Fig. 4", What: "ping, strict partition 20 %, 3 Gbit/s of UDP", Unit: "ms", Paper: 102, Relative: 0.02, Rationale: delay},
		{Key: "strictrate", Item: "eq. 2", What: "rate of the strict partition by the paper's equation", Unit: "Gbit/s", Paper: 2, Relative: 0.02, Rationale: delay},
		{Key: "conserving", Item: "Fig. 4", What: "ping, work-conserving", Unit: "ms", Paper: 2.1, Absolute: 0.05, Rationale: "no queue"},
	}
	for share, packets := range map[float64]float64{1: 51924370, 20: 51536097, 40: 52755553, 60: 52669911, 80: 52786301, 100: 52637553} {
		rows = append(rows, score.Row{Key: fmt.Sprintf("packets%g", share), Item: "table I", What: fmt.Sprintf("packets in 60 s, rate share %g %%", share),
			Paper: packets, Relative: 0.10, Rationale: "the paper gives neither the datagrams' length nor whether the counters were read at the flows' ends; table II's slope says 1,472 bytes, which fill the link with 48.8 million; 6 s after the buffer is full, times ten",
			Explanation: "the claim, the same count whatever the share, holds exactly"})
	}
	byItem(rows)
	return rows
}

func hntes2() Experiment {
	e := Experiment{ID: "002-exp2", Title: "Four H-TCP flows and a ping in one queue and in two (section III-C)"}
	for name, queues := range map[string][]liman.Queue{"1q": {{Rate: 100, Buffer: 100}}, "2q": two(95, 5)} {
		e.Cases = append(e.Cases, Case{Name: name, Run: func(r *Recorder) error {
			b := liman.New(1, "WRW1", queues, 0)
			pingQueue := beta
			if name == "1q" {
				pingQueue = alpha
			}
			ping := b.Ping("EA", "W1", pingQueue, 200)
			var flows []int
			for _, f := range []liman.Flow{{From: "E2", Stop: 200}, {From: "E1", Start: 20, Stop: 160}, {From: "E2", Start: 40, Stop: 140}, {From: "E1", Start: 60, Stop: 120}} {
				f.To, f.Queue = "W1", alpha
				flows = append(flows, b.TCP(f))
			}
			if err := play(r, b, 200); err != nil {
				return err
			}
			_, _, d := b.Source(ping)
			all := d.Between(0, 200)
			r.Set(name+"mean", all.Mean)
			r.Set(name+"sd", all.SD)
			sum := total(b, flows)
			if name == "1q" {
				r.Set("before", d.Between(20, 21).Mean)
				r.Set("rise", d.Between(20, 25).Max)
				r.Set("peak49", d.Between(42, 52).Max)
				r.Set("fall49", d.Between(42, 56).Min)
				r.Set("sum21", at(sum, 19))
				r.Set("sum22", most(sum, 20, 25))
				r.Set("sum48", most(sum, 40, 52))
				r.Set("sum49", least(sum, 42, 56))
				for _, end := range []int{85, 121, 141, 161} {
					r.Set(fmt.Sprintf("sum drop%d", end), most(sum, end-10, end)-least(sum, end-2, end+6))
				}
				for _, end := range []float64{121, 141, 161} {
					r.Set(fmt.Sprintf("drop%g", end), d.Between(end-4, end-1).Mean-d.Between(end-1, end+3).Min)
				}
				r.Set("drop85", d.Between(75, 85).Max-d.Between(82, 95).Min)
			}
			r.Plot("Experiment 2: ping", "ms", name, delays(d))
			r.Plot("Experiment 2: aggregate TCP", "Gbit/s", name, sum)
			return nil
		}})
	}
	e.Rows = hntes2Rows()
	return e
}

// lagNote: nuttcp connects before it sends.
const lagNote = "the twin's second flow sends from t = 20 on, the paper's rise is at t = 22; just before 20 the twin's ping is 2.3 ms"

// sumNote is about sums of senders' averages.
const sumNote = "the twin counts at the receiver, which the link limits to 9.41; the paper itself says that more than 10 is an effect of averaging at senders"

const laterNote = "no flow of the twin meets the end of the buffer around t = 49: its slow starts were ended by full host interfaces (10,000 packets, as ESnet advises) and it grows by H-TCP's law from there; the paper states neither the interfaces' queues nor the first windows, which decide in which second the buffer is full"

func hntes2Rows() []score.Row {
	tcp := "one run of four aggressive flows: mean and deviation of a sawtooth whose phase depends on every drop; a quarter either way is what other seeds of the twin give"
	event := "a peak of a sawtooth at one instant, sampled once a second in the paper"
	rows := []score.Row{
		{Key: "1qmean", Item: "III-C.2", What: "ping mean, 1 queue", Unit: "ms", Paper: 60.4, Relative: 0.25, Rationale: tcp},
		{Key: "1qsd", Item: "III-C.2", What: "ping deviation, 1 queue", Unit: "ms", Paper: 29.3, Relative: 0.25, Rationale: tcp, Explanation: laterNote},
		{Key: "2qmean", Item: "III-C.2", What: "ping mean, 2 queues", Unit: "ms", Paper: 2.3, Absolute: 0.1, Rationale: "the base round trip and one packet's wait"},
		{Key: "2qsd", Item: "III-C.2", What: "ping deviation, 2 queues", Unit: "ms", Paper: 0.3, Op: score.AtMost, Rationale: "the twin's hosts answer at once, so the paper's 0.3 ms of host jitter is an upper bound"},
		{Key: "sum21", Item: "Fig. 5", What: "aggregate TCP before t = 22", Unit: "Gbit/s", Paper: 9.4, Relative: 0.02, Rationale: "the link rate"},
		{Key: "sum22", Item: "Fig. 5", What: "aggregate TCP at t = 22", Unit: "Gbit/s", Paper: 10.7, Relative: 0.05, Rationale: "the paper's sum of senders' per-second averages", Explanation: sumNote},
		{Key: "before", Item: "Fig. 5", What: "ping before the second flow", Unit: "ms", Paper: 3, Absolute: 1, Rationale: "printed with one digit", Explanation: lagNote},
		{Key: "rise", Item: "Fig. 5", What: "ping once the second flow has started", Unit: "ms", Paper: 82, Relative: 0.25, Rationale: event},
		{Key: "sum48", Item: "Fig. 5", What: "aggregate TCP before the drop at t = 49", Unit: "Gbit/s", Paper: 10.6, Relative: 0.05, Rationale: "the paper's sum of senders' per-second averages", Explanation: sumNote},
		{Key: "sum49", Item: "Fig. 5", What: "aggregate TCP at t = 49", Unit: "Gbit/s", Paper: 9.3, Relative: 0.05, Rationale: "nearly the link rate: the buffer feeds it while the senders recover", Explanation: laterNote},
		{Key: "peak49", Item: "Fig. 5", What: "ping before the drop at t = 49", Unit: "ms", Paper: 92, Relative: 0.15, Rationale: event},
		{Key: "fall49", Item: "Fig. 5", What: "ping after the drop at t = 49", Unit: "ms", Paper: 22, Relative: 0.6, Rationale: event, Explanation: laterNote},
	}
	for _, t := range []int{85, 121, 141, 161} {
		rows = append(rows, score.Row{Key: fmt.Sprintf("sum drop%d", t), Item: "Fig. 5", What: fmt.Sprintf("aggregate TCP falls around t = %d, by", t), Unit: "Gbit/s", Paper: 0.2, Op: score.AtLeast,
			Rationale: "plot: throughput drops at these seconds coincide with drops of the ping; 0.2 Gbit/s, 2 % of the link, is the least one sees in its figure", Explanation: "the twin counts at the receiver: while a buffer still feeds the link, a sender's pause does not show there"})
		rows = append(rows, score.Row{Key: fmt.Sprintf("drop%d", t), Item: "Fig. 5", What: fmt.Sprintf("the ping falls around t = %d, by", t), Unit: "ms", Paper: 5, Op: score.AtLeast,
			Rationale: "plot: the paper says that throughput and ping drop together; 5 ms is the least one sees in its figure", Explanation: laterNote})
	}
	return rows
}

func play(r *Recorder, b *liman.Testbed, seconds float64) error {
	if err := b.Err(); err != nil {
		return err
	}
	before := b.Hops
	err := r.Play(b.Net, seconds)
	r.hops -= before
	return err
}

// total adds the goodput of flows, Gbit/s by second.
func total(b *liman.Testbed, flows []int) []Point {
	var out []Point
	for s := range int(b.Now() / engine.Second) {
		sum := 0.0
		for _, f := range flows {
			sum += b.Net.TCP(f).Series.At(s)
		}
		out = append(out, Point{X: float64(s + 1), Y: sum / 1e9})
	}
	return out
}

func throughput(s *engine.Series, seconds int) []Point {
	var out []Point
	for i := range seconds {
		out = append(out, Point{X: float64(i + 1), Y: s.At(i) / 1e9})
	}
	return out
}

func at(p []Point, second int) float64 {
	if second < len(p) {
		return p[second].Y
	}
	return 0
}

func most(p []Point, from, to int) float64 {
	best := 0.0
	for _, v := range p[min(from, len(p)):min(to, len(p))] {
		best = max(best, v.Y)
	}
	return best
}

func least(p []Point, from, to int) float64 {
	if from >= len(p) {
		return 0
	}
	low := p[from].Y
	for _, v := range p[from:min(to, len(p))] {
		low = min(low, v.Y)
	}
	return low
}

// delays thins a ping to at most 400 points.
func delays(d *engine.Delays) []Point {
	var out []Point
	step := max(len(d.Took)/400, 1)
	for i := 0; i < len(d.Took); i += step {
		out = append(out, Point{X: float64(d.Born[i]) / float64(engine.Second), Y: float64(d.Took[i]) * 1e3 / float64(engine.Second)})
	}
	return out
}
