package papers

import (
	"github.com/millrace/millrace/papers/score"
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
	random *traffic.Random // of starting times, so that repetitions differ
	p      law.Parameters
	vpns   []*vpnFlow
	shared law.Domain
	off    bool // no I2VFC
	err    error
}

// vpnFlow is one VPN: the law's flow and the gate it moves.
type vpnFlow struct {
	law.Flow
	d      *domain
	gate   int
	since  int
	oldest float64 // when the oldest management packet without an answer left, 0: none
	latest float64
	// Packets that left since the last report, and how many of them left others behind.
	departed, waited float64
	limited          bool // as of the last report
	flows            []int
}

// delta is the packets between management packets (table V).
const delta = 4

// Departed implements engine.Control.
func (v *vpnFlow) Departed(now engine.Time) bool {
	t := float64(now) / float64(engine.Second)
	v.departed++
	if waiting, _ := v.d.Gate(v.gate); waiting > 0 {
		v.waited++
	}
	if v.since++; v.since < delta || t-v.latest < max(v.SRTT/8, 0.001) {
		return false
	}
	v.since, v.latest = 0, t
	if v.oldest == 0 {
		v.oldest = t
	}
	return true
}

// Answered implements engine.Control.
func (v *vpnFlow) Answered(now, rtt engine.Time, sent, received uint64) {
	v.oldest = 0
	departed := v.departed
	v.limited = v.isLimited()
	v.departed, v.waited = 0, 0
	event := v.Update(&v.d.p, law.Feedback{
		Now: float64(now) / float64(engine.Second), RTT: float64(rtt) / float64(engine.Second), Sent: sent, Received: received,
		WindowLimited: departed > 0 && v.limited,
	}, v.d.shared.Throughput)
	if event {
		for _, other := range v.d.vpns {
			other.EndSlowStart()
		}
	}
	v.d.SetRate(v.gate, v.Rate())
}

// isLimited: nearly all packets since the last report waited, as the agent has it; without packets, as of that report.
func (v *vpnFlow) isLimited() bool {
	if v.departed == 0 {
		return v.limited
	}
	return v.waited >= 0.9*v.departed
}

// control is the agent's loop: slow start, time-outs, and b from what the domain has in common.
func (d *domain) control(at engine.Time) {
	const every = 0.05
	t := float64(at) / float64(engine.Second)
	var sums law.Sums
	for _, v := range d.vpns {
		v.GrowSlowStart(&d.p, law.Round{Now: t, Elapsed: every, OldestRequest: v.oldest, WindowLimited: v.isLimited()}, d.shared.Throughput)
		v.CheckTimeout(&d.p, t, v.oldest)
		sums.Add(&d.p, &v.Flow, d.shared.LossInterval)
	}
	// The paper gives b to VPN 1 and lets the others' follow from it
	// (sections III-A and III-B): its price is the reference.
	next := sums.Domain()
	now := next
	now.LossInterval = d.shared.LossInterval // the one that the prices were computed with
	if one := d.vpns[0]; one.Phase == law.CongestionAvoidance {
		now.Price = one.Price(&d.p, now.LossInterval)
	}
	for _, v := range d.vpns {
		v.AdaptB(&d.p, now)
		d.SetRate(v.gate, v.Rate())
	}
	d.shared = next
}

func (d *domain) port(c engine.PortConfig) int {
	n, err := d.AddPort(c)
	if d.err == nil {
		d.err = err
	}
	return n
}

// vpnConfig is one VPN: its weight, the ports it crosses, its access delay, its TCP flows and when they
// start: within 0.3 s, since the paper repeats runs and states no other difference between them.
type vpnConfig struct {
	weight      float64
	ports       []int
	delay       float64
	flows       int
	start, stop float64
}

// add puts a VPN into the domain. Hosts are on 1 Gbit/s behind the PE; the return path is free of queues. Their TCP is
// of the paper's year: an initial window of two segments (RFC 2581), SACK, delayed acknowledgements, 64 KB of window.
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
	for range c.flows {
		host := d.port(engine.PortConfig{Name: "host", Rate: 1e8, Delay: engine.Second / 100_000})
		n, err := d.AddTCP(engine.TCPConfig{
			Name: "vpn", Config: tcp.Config{SACK: true, Window: 44, Initial: 2}, Receiver: tcp.Delayed, Payload: 1460, Header: 40,
			Start: engine.Seconds(c.start + 0.3*d.random.Float()), Stop: engine.Seconds(c.stop),
			Forward: engine.Route{Hops: append([]engine.Hop{engine.At(host)}, data.Hops...)}, Back: home,
		})
		if err != nil && d.err == nil {
			d.err = err
		}
		v.flows = append(v.flows, n)
	}
}

func newDomain(a, b float64, seed uint64, off bool) *domain {
	d := &domain{Net: engine.New(seed), random: traffic.NewRandom(seed + 1000), p: law.DefaultParameters(), off: off}
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

// Table I and II: weights of VPNs and delays of their links.
var (
	vpnWeights = []float64{1, 2, 2, 3, 4}
	vpnDelays  = []float64{.050, .025, .075, .050, .025}
)

// oneBottleneck is figure 2 with tables I and II.
func oneBottleneck(a, b float64, seed uint64, off bool) (*domain, int) {
	d := newDomain(a, b, seed, off)
	line := d.port(engine.PortConfig{Name: "bottleneck", Rate: 50e6, LimitPackets: 50, Delay: 5_060_000})
	for i, w := range vpnWeights {
		d.add(vpnConfig{weight: w, ports: []int{line}, delay: vpnDelays[i], flows: 30, stop: 1e4})
	}
	d.background(line)
	return d, line
}

// background is section III-A's: packets of 1,500 bytes, exponential gaps, 30 % of 50 Mbit/s.
func (d *domain) background(line int) {
	_, err := d.AddSource(engine.SourceConfig{Name: "background", Pattern: traffic.Pattern{Kind: traffic.Poisson, Gap: 1500 * 8 / (0.3 * 50e6)}, Size: 1500, Stop: engine.Never,
		Forward: engine.Route{Hops: []engine.Hop{engine.At(line)}}})
	if d.err == nil {
		d.err = err
	}
}
