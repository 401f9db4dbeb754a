package papers

import (
	"fmt"
	"sync"

	"github.com/millrace/millrace/e2e/papers/score"
	"github.com/millrace/millrace/services/twin/engine"
	"github.com/millrace/millrace/services/twin/tcp"
	"github.com/millrace/millrace/services/twin/traffic"
)

// scheme is one column of papers 000 and 003: who does what.
type scheme struct {
	name      string
	spread    engine.Spread
	threshold bool // T by the number of paths; else 3
	fixed     int  // a threshold of its own, in the sweep of figure 4
	receiver  tcp.Policy
}

var (
	standard   = scheme{name: "non-delayed", receiver: tcp.Immediate}
	delayed    = scheme{name: "delayed", receiver: tcp.Delayed}
	raised     = scheme{name: "threshold", threshold: true, receiver: tcp.Immediate}
	modified   = scheme{name: "modified", receiver: tcp.Modified}
	integrated = scheme{name: "integrated", threshold: true, receiver: tcp.Modified}
	flowLevel  = scheme{name: "flow-level", spread: engine.FlowHash, receiver: tcp.Immediate}
)

// way is one path between R0 and R1: the links it takes, by name.
type way []string

// mesh is a topology between R0 and R1 with ten leaf nodes on either side.
type mesh struct {
	name  string
	links map[string]meshLink
	// ways forward; packets come back over the same ones the other way round.
	ways []way
	// nested is set where the first link is shared by the first two ways (figure 10), so that ECMP splits twice.
	weights []int
	loss    float64
	peak    float64 // of each Pareto source, bit/s
	seconds float64
}

type meshLink struct {
	rate  float64
	delay float64 // ms
}

// queueLimit is ns-2's default of 50 packets; segments are 512 bytes in 552.
const (
	queueLimit  = 50
	segment     = 512
	segmentWire = 552
	warmUp      = 3.0
)

// fig3 is N parallel links of 100 Mbit/s; the longest is 1 + difference times the 10 ms of the shortest, the rest
// evenly between. The papers say "100 % different" and not more.
func fig3(paths int, difference, loss float64) mesh {
	m := mesh{name: fmt.Sprintf("fig3 %d %g %g", paths, difference, loss), links: map[string]meshLink{}, loss: loss, peak: 10e6, seconds: 13}
	for i := range paths {
		delay := 10.0
		if paths > 1 {
			delay *= 1 + difference*float64(i)/float64(paths-1)
		}
		name := fmt.Sprint("p", i)
		m.links[name] = meshLink{100e6, delay}
		m.ways = append(m.ways, way{name})
	}
	return m
}

// goodput of the hundred connections, bit/s.
func (m mesh) goodput(r *Recorder, s scheme) (float64, error) {
	n := engine.New(2)
	b := &meshBuilder{Net: n, mesh: m, ports: map[string]int{}}
	threshold := 3
	switch {
	case s.fixed > 0:
		threshold = s.fixed
	case s.threshold:
		threshold = tcp.Threshold(len(m.ways))
	}
	var flows []int
	for node := range 10 {
		there, home := b.leaf(s.spread)
		for i := range 10 {
			f, err := n.AddTCP(engine.TCPConfig{
				Name: "ftp", Config: tcp.Config{Window: 100, Initial: 2, Threshold: threshold}, Receiver: s.receiver,
				Payload: segment, Header: segmentWire - segment, Start: engine.Time(node*10+i) * engine.Second / 500, Stop: engine.Never,
				Forward: there, Back: home,
			})
			if err != nil {
				return 0, err
			}
			flows = append(flows, f)
		}
		if _, err := n.AddSource(engine.SourceConfig{
			Name: "pareto", Pattern: traffic.Pattern{Kind: traffic.ParetoOnOff, Gap: 500 * 8 / m.peak, On: 0.5, Off: 0.5, Shape: 1.5},
			Size: 500, Start: engine.Time(node) * engine.Second / 20, Stop: engine.Never, Forward: there,
		}); err != nil {
			return 0, err
		}
	}
	if b.err != nil {
		return 0, b.err
	}
	if err := r.Play(n, m.seconds); err != nil {
		return 0, err
	}
	sum := 0.0
	for _, f := range flows {
		sum += n.TCP(f).Series.Mean(int(warmUp), int(m.seconds))
	}
	return sum, nil
}

type meshBuilder struct {
	*engine.Net
	mesh
	ports map[string]int
	err   error
}

func (b *meshBuilder) add(c engine.PortConfig) int {
	n, err := b.AddPort(c)
	if b.err == nil {
		b.err = err
	}
	return n
}

// link is one direction of a core link, made once.
func (b *meshBuilder) link(name, direction string) int {
	key := name + direction
	if p, made := b.ports[key]; made {
		return p
	}
	l := b.links[name]
	b.ports[key] = b.add(engine.PortConfig{Name: key, Rate: l.rate, Delay: engine.Seconds(l.delay / 1e3), LimitPackets: queueLimit, Loss: b.loss})
	return b.ports[key]
}

// leaf makes a sender's and a receiver's access links and the routes between them.
func (b *meshBuilder) leaf(spread engine.Spread) (there, home engine.Route) {
	access := engine.PortConfig{Name: "access", Rate: 100e6, Delay: engine.Second / 1000, LimitPackets: queueLimit}
	// A host's own queue does not drop: the source waits (ns-2 gives the first link the same buffer, which a
	// window of 100 never fills by itself).
	host := access
	host.LimitPackets = 0
	out, in, back, homeward := b.add(host), b.add(access), b.add(host), b.add(access)
	return b.spread(out, ">", in, spread), b.spread(back, "<", homeward, spread)
}

func (b *meshBuilder) spread(first int, direction string, last int, spread engine.Spread) engine.Route {
	r := engine.Route{Hops: []engine.Hop{engine.At(first)}, Spread: spread}
	for i, w := range b.ways {
		var hops []engine.Hop
		for j := range w {
			name := w[j]
			if direction == "<" {
				name = w[len(w)-1-j]
			}
			hops = append(hops, engine.At(b.link(name, direction)))
		}
		weight := 1
		if b.weights != nil {
			weight = b.weights[i]
		}
		r.Split = append(r.Split, engine.Branch{Weight: weight, Route: engine.Route{Hops: append(hops, engine.At(last))}})
	}
	return r
}

// memo runs each mesh and scheme once, whichever papers ask for it.
type memo struct {
	mu    sync.Mutex
	known map[string]*once
}

type once struct {
	sync.Once
	goodput float64
	err     error
}

func (m *memo) goodput(r *Recorder, t mesh, s scheme) (float64, error) {
	key := fmt.Sprint(t.name, s)
	m.mu.Lock()
	o := m.known[key]
	if o == nil {
		o = &once{}
		m.known[key] = o
	}
	m.mu.Unlock()
	o.Do(func() { o.goodput, o.err = t.goodput(r, s) })
	return o.goodput, o.err
}

// relative is the papers' measure: goodput over that of the standard sender and receiver on a single path.
func (m *memo) relative(r *Recorder, t, single mesh, s scheme) (float64, error) {
	base, err := m.goodput(r, single, standard)
	if err != nil {
		return 0, err
	}
	g, err := m.goodput(r, t, s)
	return g / base, err
}

// multipath is papers 000 and 003.
func multipath() []Experiment {
	m := &memo{known: map[string]*once{}}
	var out []Experiment
	for _, paper := range []string{"000", "003"} {
		out = append(out, thresholdRule(paper), m.parallel(paper), m.partial(paper), m.vbns(paper))
	}
	return append(out, m.sweep())
}

func thresholdRule(paper string) Experiment {
	e := Experiment{ID: paper + "-threshold", Title: "The threshold by the number of paths (equation 1)", Cases: []Case{{Name: "rule", Quick: true, Run: func(r *Recorder) error {
		for n := 1; n <= 15; n++ {
			r.Set(fmt.Sprint(n), float64(tcp.Threshold(n)))
		}
		return nil
	}}}}
	for n, want := range []float64{0, 3, 6, 6, 9, 9, 9, 9, 12, 12, 12, 12, 12, 12, 12, 12} {
		if n > 0 {
			e.Rows = append(e.Rows, score.Row{Key: fmt.Sprint(n), Item: "eq. 1", What: fmt.Sprintf("threshold for %d paths", n), Paper: want, Why: "arithmetic"})
		}
	}
	return e
}
