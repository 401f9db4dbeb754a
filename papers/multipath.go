package papers

import (
	"fmt"
	"sync"

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

// path is one path between R0 and R1: the links it takes, by name.
type path []string

// mesh is a topology between R0 and R1 with ten leaf nodes on either side.
type mesh struct {
	name  string
	links map[string]meshLink
	// paths forward, in turn; packets come back over the same paths in reverse.
	paths []path
	loss  float64
	peak  float64 // of each Pareto source, bit/s
}

type meshLink struct {
	rate  float64
	delay float64 // ms
}

// The papers name ns-2 (section 4.1, IV-A) and give no buffers: its default is 50 packets on every link, a host's own
// included. Its packets of 512 bytes had no headers beside them until 28 November 2001 (useHeaders_).
const (
	queueLimit = 50
	header     = 40
	segment    = 512 - header
	// The papers do not state how long their runs were. A timer without a sample is 6 s, so that a
	// connection whose first segments are lost takes part after it; then each of the ten sources has some
	// thirty bursts and pauses of a mean of 0.5 s.
	warmUp  = 10
	seconds = 40
)

// fig3 is N paths of two links each, each by a router of its own: the papers name links R_i - R_j of 10 ms
// in the core, and ns-2 has one link between two nodes (link_ of ns-lib.tcl), so that parallel paths need
// routers between. The longest path has 1 + difference times the delay of the shortest, the rest evenly
// between: "100 % different" and not more.
func fig3(paths int, difference, loss float64) mesh {
	m := mesh{name: fmt.Sprintf("fig3 %d %g %g", paths, difference, loss), links: map[string]meshLink{}, loss: loss, peak: 10e6}
	for i := range paths {
		delay := 10.0
		if paths > 1 {
			delay *= 1 + difference*float64(i)/float64(paths-1)
		}
		near, far := fmt.Sprintf("R0R%d", i+2), fmt.Sprintf("R%dR1", i+2)
		m.links[near], m.links[far] = meshLink{100e6, delay}, meshLink{100e6, delay}
		m.paths = append(m.paths, path{near, far})
	}
	return m
}

// goodput of the hundred connections, bit/s.
func (m mesh) goodput(r *Recorder, s scheme) (float64, error) {
	b, flows, err := m.build(s)
	if err != nil {
		return 0, err
	}
	if err := r.Play(b.Net, seconds); err != nil {
		return 0, err
	}
	sum := 0.0
	for _, f := range flows {
		sum += b.TCP(f).Series.Mean(warmUp, seconds)
	}
	return sum, nil
}

// build is a hundred connections and ten sources over the mesh.
func (m mesh) build(s scheme) (b *meshBuilder, flows []int, _ error) {
	n := engine.New(2)
	b = &meshBuilder{Net: n, mesh: m, ports: map[string]int{}}
	threshold := 3
	switch {
	case s.fixed > 0:
		threshold = s.fixed
	case s.threshold:
		threshold = tcp.Threshold(len(m.paths))
	}
	for node := range 10 {
		there, home := b.leaf(s.spread, node)
		for i := range 10 {
			f, err := n.AddTCP(engine.TCPConfig{
				Name: "ftp", Config: tcp.Config{NS2: true, Window: 100, Initial: 1, Threshold: threshold}, Receiver: s.receiver,
				Payload: segment, Header: header, Start: engine.Time(node*10+i) * engine.Second / 500, Stop: engine.Never,
				Forward: there, Back: home,
			})
			if err != nil {
				return nil, nil, err
			}
			flows = append(flows, f)
		}
		if _, err := n.AddSource(engine.SourceConfig{
			Name: "pareto", Pattern: traffic.Pattern{Kind: traffic.ParetoOnOff, Gap: 500 * 8 / m.peak, On: 0.5, Off: 0.5, Shape: 1.5},
			Size: 500, Start: engine.Time(node) * engine.Second / 20, Stop: engine.Never, Forward: there,
		}); err != nil {
			return nil, nil, err
		}
	}
	return b, flows, b.err
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

// leaf makes a sender's and a receiver's access links and the routes between them. What goes to one node is one
// forwarding class: its packets, whosever, take turns (section I-A).
func (b *meshBuilder) leaf(spread engine.Spread, node int) (there, home engine.Route) {
	access := engine.PortConfig{Name: "access", Rate: 100e6, Delay: engine.Second / 1000, LimitPackets: queueLimit}
	out, in, back, homeward := b.add(access), b.add(access), b.add(access), b.add(access)
	return b.spread(out, ">", in, spread, node), b.spread(back, "<", homeward, spread, node)
}

func (b *meshBuilder) spread(first int, direction string, last int, spread engine.Spread, node int) engine.Route {
	r := engine.Route{Hops: []engine.Hop{engine.At(first)}, Spread: spread}
	for _, w := range b.paths {
		var hops []engine.Hop
		for j := range w {
			name := w[j]
			if direction == "<" {
				name = w[len(w)-1-j]
			}
			hops = append(hops, engine.At(b.link(name, direction)))
		}
		r.Split = append(r.Split, engine.Branch{Route: engine.Route{Hops: append(hops, engine.At(last))}})
	}
	if spread == engine.FlowHash {
		// The papers hash the source address (section 4.1, IV-B), so that a node's flows share a path. Of ten
		// addresses in a row a hash modulo the number of paths, the simplest of their reference [10, 14], gives
		// each path its even part.
		chosen := r.Split[node%len(r.Split)].Route
		r = engine.Route{Hops: append(r.Hops, chosen.Hops...)}
	}
	r, err := b.AddRoute(r)
	if b.err == nil {
		b.err = err
	}
	return r
}

// memo runs each mesh and scheme once, for both papers that need it.
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
		out = append(out, thresholdRule(paper), oneFlow(paper), m.parallel(paper), m.partial(paper), m.vbns(paper))
	}
	return append(out, m.sweep())
}
