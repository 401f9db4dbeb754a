package papers

import (
	"fmt"
	"math"

	"github.com/millrace/millrace/e2e/papers/score"
	"github.com/millrace/millrace/services/peagent/law"
	"github.com/millrace/millrace/services/twin/engine"
	"github.com/millrace/millrace/services/twin/tcp"
	"github.com/millrace/millrace/services/twin/traffic"
)

// vpn is paper 001: Honda and others, I2VFC part 2.
func vpn() []Experiment {
	return []Experiment{vpnSingle(), vpnIntra(), vpnMulti(), vpnPrototype(), vpnScale()}
}

// domain is a provider's network with I2VFC between its edges.
type domain struct {
	*engine.Net
	p       law.Parameters
	vpns    []*vpnFlow
	common  float64
	off     bool // no I2VFC
	err     error
	backbon []int
}

// vpnFlow is one VPN: the law's flow and the gate it moves.
type vpnFlow struct {
	law.Flow
	d      *domain
	gate   int
	since  int
	asked  float64 // when the oldest unanswered management packet left
	latest float64
	flows  []int
}

// delta is the packets between management packets (table V).
const delta = 4

// Departed implements engine.Control.
func (v *vpnFlow) Departed(now engine.Time) bool {
	t := float64(now) / float64(engine.Second)
	if v.since++; v.since < delta || t-v.latest < max(v.RTT/8, 0.001) {
		return false
	}
	v.since, v.latest = 0, t
	if v.asked == 0 {
		v.asked = t
	}
	return true
}

// Answered implements engine.Control.
func (v *vpnFlow) Answered(now, rtt engine.Time, sent, received uint64) {
	v.asked = 0
	waiting, _ := v.d.Gate(v.gate)
	event := v.Update(&v.d.p, law.Report{
		Now: float64(now) / float64(engine.Second), RTT: float64(rtt) / float64(engine.Second), Sent: sent, Received: received, Limited: waiting > 0,
	}, v.d.level(v))
	if event {
		for _, other := range v.d.vpns {
			other.Settle()
		}
	}
	v.d.SetRate(v.gate, v.Rate())
}

// level is what the others of the domain have per unit of weight.
func (d *domain) level(but *vpnFlow) float64 {
	sum, n := 0.0, 0.0
	for _, v := range d.vpns {
		if v != but && v.Phase == law.Avoiding {
			sum, n = sum+v.Level(), n+1
		}
	}
	return sum / max(n, 1)
}

// control is the agent's loop: growth, and b from the prices.
func (d *domain) control(now engine.Time) {
	const every = 0.05
	var ref law.Reference
	for _, v := range d.vpns {
		v.Grow(&d.p, every)
		v.Tick(&d.p, float64(now)/float64(engine.Second), v.asked)
		ref.Add(&d.p, &v.Flow, d.common)
	}
	for _, v := range d.vpns {
		v.B = law.Decrease(&d.p, v.Price(&d.p, d.common), ref.Price())
		d.SetRate(v.gate, v.Rate())
	}
	d.common = ref.Common()
}

func (d *domain) port(c engine.PortConfig) int {
	n, err := d.AddPort(c)
	if d.err == nil {
		d.err = err
	}
	return n
}

// vpnConfig is one VPN: its weight, the ports it crosses, its access delay, its TCP flows and when they start.
type vpnConfig struct {
	weight      float64
	ports       []int
	delay       float64
	flows       int
	start, stop float64
}

// add puts a VPN into the domain. Hosts are on 1 Gbit/s behind the PE; the way back is free of queues.
func (d *domain) add(c vpnConfig) {
	v := &vpnFlow{Flow: law.Flow{Weight: c.weight}, d: d}
	access := d.port(engine.PortConfig{Name: "access", Rate: 1e9, Delay: engine.Seconds(c.delay)})
	back := d.port(engine.PortConfig{Name: "back", Rate: 1e9, Delay: engine.Seconds(c.delay) + 5_060_000})
	core := engine.Route{Hops: []engine.Hop{engine.At(access)}}
	for _, p := range c.ports {
		core.Hops = append(core.Hops, engine.At(p))
	}
	home := engine.Route{Hops: []engine.Hop{engine.At(back)}}
	var err error
	if v.gate, err = d.AddGate(engine.GateConfig{Name: "vpn", LimitPackets: 128, Size: 100, Forward: core, Back: home, Control: v}); err != nil && d.err == nil {
		d.err = err
	}
	d.vpns = append(d.vpns, v)
	data := engine.Route{Hops: append([]engine.Hop{{Gate: v.gate + 1, Mark: -1}}, append(core.Hops, engine.Hop{Count: v.gate + 1, Mark: -1})...)}
	if d.off {
		data = core
	}
	for i := range c.flows {
		host := d.port(engine.PortConfig{Name: "host", Rate: 1e8, Delay: engine.Second / 100_000})
		n, err := d.AddTCP(engine.TCPConfig{
			Name: "vpn", Config: tcp.Config{SACK: true, Window: 64}, Receiver: tcp.Delayed, Payload: 1460, Header: 40,
			Start: engine.Seconds(c.start + float64(i)*0.01), Stop: engine.Seconds(c.stop),
			Forward: engine.Route{Hops: append([]engine.Hop{engine.At(host)}, data.Hops...)}, Back: home,
		})
		if err != nil && d.err == nil {
			d.err = err
		}
		v.flows = append(v.flows, n)
	}
}

func newDomain(a, b float64, seed uint64, off bool) *domain {
	d := &domain{Net: engine.New(seed), p: law.DefaultParameters(), off: off}
	d.p.A, d.p.B = a, b
	d.p.MinB = min(d.p.MinB, b)
	d.p.MaxB = max(d.p.MaxB, b)
	return d
}

func (d *domain) play(r *Recorder, seconds float64) error {
	if d.err != nil {
		return d.err
	}
	if !d.off {
		d.Every(engine.Second/20, d.control)
	}
	return r.Play(d.Net, seconds)
}

// throughput of every VPN in a span of seconds, bit/s.
func (d *domain) throughput(from, to int) (x, weights []float64) {
	for _, v := range d.vpns {
		sum := 0.0
		for _, f := range v.flows {
			sum += d.TCP(f).Series.Mean(from, to)
		}
		x, weights = append(x, sum), append(weights, v.Weight)
	}
	return x, weights
}

// fairness is F of each second, averaged.
func (d *domain) fairness(from, to int) float64 {
	sum := 0.0
	for s := from; s < to; s++ {
		x, w := d.throughput(s, s+1)
		sum += score.Jain(x, w)
	}
	return sum / float64(to-from)
}

func (d *domain) curve(to int) []Point {
	var out []Point
	for s := range to {
		x, w := d.throughput(s, s+1)
		if f := score.Jain(x, w); f == f {
			out = append(out, Point{X: float64(s + 1), Y: f})
		}
	}
	return out
}

// oneBottleneck is figure 2 with tables I and II.
func oneBottleneck(a, b float64, seed uint64, off bool) (*domain, int) {
	d := newDomain(a, b, seed, off)
	line := d.port(engine.PortConfig{Name: "bottleneck", Rate: 50e6, LimitPackets: 50, Delay: 5_060_000})
	for i, w := range []float64{1, 2, 2, 3, 4} {
		d.add(vpnConfig{weight: w, ports: []int{line}, delay: []float64{.050, .025, .075, .050, .025}[i], flows: 30, stop: 1e4})
	}
	_, err := d.AddSource(engine.SourceConfig{Name: "background", Pattern: traffic.Pattern{Kind: traffic.Poisson, Gap: 1500 * 8 / (0.3 * 50e6)}, Size: 1500, Stop: engine.Never,
		Forward: engine.Route{Hops: []engine.Hop{engine.At(line)}}})
	if d.err == nil {
		d.err = err
	}
	return d, line
}

const repetitions = 10

func vpnSingle() Experiment {
	e := Experiment{ID: "001-single", Title: "One bottleneck, weights 1, 2, 2, 3, 4 (section III-A)"}
	law := "the paper's claim as it stands; b of the other VPNs follows from price, which paper 001 leaves to its part 1"
	for _, b := range []float64{0.1, 0.25} {
		for _, a := range []float64{0.01, 0.1, 1} {
			key := fmt.Sprintf("a=%g b=%g", a, b)
			e.Cases = append(e.Cases, Case{Name: key, Quick: a == 0.1 && b == 0.1, Run: func(r *Recorder) error {
				var f, squares, use float64
				for seed := range uint64(repetitions) {
					d, line := oneBottleneck(a, b, seed, false)
					if err := d.play(r, 50); err != nil {
						return err
					}
					one := d.fairness(10, 50)
					f += one / repetitions
					squares += one * one / repetitions
					c, _ := d.Port(line)
					use += float64(c.Bytes) * 8 / 50e6 / 50 / repetitions * 100
					if seed == 0 {
						r.Plot("Figure 3, 4: weighted fairness of VPNs", "F", key, d.curve(50))
					}
				}
				r.Set(key, f)
				r.Set(key+" use", use)
				if a == 0.1 && b == 0.1 {
					// Student's t of nine degrees of freedom.
					r.Set("ci", 100*2.262*math.Sqrt(max(squares-f*f, 0)/(repetitions-1))/f)
				}
				return nil
			}})
			e.Rows = append(e.Rows, score.Row{Key: key, Item: pick(b == 0.1, "Fig. 3", "Fig. 4"), What: "F of VPNs, " + key, Paper: 0.9, Op: score.AtLeast, Why: law, Note: "b of VPN 5 is bounded below 0.5, so that with b = 0.25 for VPN 1 the lighter price cannot be made up in full"},
				score.Row{Key: key + " use", Item: "section III-A", What: "utilisation of the bottleneck, " + key, Unit: "%", Paper: 100, Absolute: 6, Why: `"almost 100 %"; a window that falls by b loses b/2 of its part now and then`,
					Note: "the index counts from the start. A window that adds a = 0.01 or 0.1 packets per round trip of 100 ms needs minutes to refill what a burst of early losses took; the paper does not say at which windows its flows start"})
		}
	}
	e.Cases = append(e.Cases, Case{Name: "no I2VFC", Run: func(r *Recorder) error {
		d, _ := oneBottleneck(0.1, 0.1, 1, true)
		if err := d.play(r, 50); err != nil {
			return err
		}
		r.Set("none", d.fairness(10, 50))
		r.Plot("Figure 3, 4: weighted fairness of VPNs", "F", "no I2VFC", d.curve(50))
		return nil
	}})
	e.Rows = append(e.Rows, score.Row{Key: "none", Item: "Fig. 3", What: "F of VPNs without I2VFC", Paper: 0.9, Op: score.AtMost, Why: "plot: below every curve with it"},
		score.Row{Key: "ci", Item: "section III", What: "95 % confidence interval of F over 10 repetitions", Unit: "% of mean", Paper: 2, Op: score.AtMost, Why: "the paper: within 2 %"})
	return e
}

// vpnIntra is figures 5 and 6: fairness among the TCP flows of a VPN.
func vpnIntra() Experiment {
	e := Experiment{ID: "001-intra", Title: "Fairness inside a VPN (section III-A, figures 5 and 6)"}
	one := func(key string, flows int, a, b float64, off bool) {
		e.Cases = append(e.Cases, Case{Name: key, Run: func(r *Recorder) error {
			sum := 0.0
			for seed := range uint64(repetitions) {
				d := newDomain(a, b, seed, off)
				line := d.port(engine.PortConfig{Name: "bottleneck", Rate: 50e6, LimitPackets: 50, Delay: 5_060_000})
				for i := range 4 {
					d.add(vpnConfig{weight: 1, ports: []int{line}, delay: []float64{.050, .025, .075, .050}[i], flows: flows, stop: 1e4})
				}
				if err := d.play(r, 50); err != nil {
					return err
				}
				for _, v := range d.vpns {
					var x []float64
					for _, f := range v.flows {
						x = append(x, d.TCP(f).Series.Mean(5, 50))
					}
					sum += score.Jain(x, nil) / 4 / repetitions
				}
			}
			r.Set(key, sum)
			return nil
		}})
	}
	one("none", 2, 0.1, 0.1, true)
	one("a=5 b=0.75", 2, 5, 0.75, false)
	one("a=0.1 b=0.1", 2, 0.1, 0.1, false)
	one("none 10", 10, 0.1, 0.1, true)
	one("a=0.1 b=0.1 10", 10, 0.1, 0.1, false)
	e.Derive = func(v score.Values) {
		if _, ok := v["none"]; ok {
			v["better"] = v["a=0.1 b=0.1"] - v["none"]
			v["better 10"] = v["a=0.1 b=0.1 10"] - v["none 10"]
			v["better fast"] = v["a=5 b=0.75"] - v["none"]
		}
	}
	why := "an index of two flows in OPNET's TCP over 50 s; a tenth of its range"
	note := "two flows of one VPN see the same path and the same queue; over 45 s the twin's TCP shares them nearly evenly even without I2VFC, where OPNET's had timeouts"
	e.Rows = []score.Row{
		{Key: "none", Item: "Fig. 5", What: "F of 2 TCP flows, no I2VFC", Paper: 0.748, Absolute: 0.1, Why: why, Note: note},
		{Key: "a=5 b=0.75", Item: "Fig. 5", What: "F of 2 TCP flows, a = 5, b = 0.75", Paper: 0.815, Absolute: 0.1, Why: why, Note: note},
		{Key: "a=0.1 b=0.1", Item: "section IV-B", What: "F of 2 TCP flows, value quoted beside the prototype", Paper: 0.92, Absolute: 0.1, Why: why, Flag: "a and b are not stated; 0.1 and 0.1 of the prototype are taken"},
		{Key: "better", Item: "Fig. 5", What: "I2VFC (0.1, 0.1) less none, 2 flows", Paper: 0, Op: score.AtLeast, Why: "the paper: improved", Note: note},
		{Key: "better fast", Item: "Fig. 5", What: "I2VFC (5, 0.75) less none, 2 flows", Paper: 0, Op: score.AtLeast, Why: "the paper: improved regardless of a and b", Note: note},
		{Key: "better 10", Item: "Fig. 6", What: "I2VFC (0.1, 0.1) less none, 10 flows", Paper: 0, Op: score.AtLeast, Why: "the paper: improved", Note: note},
	}
	return e
}
