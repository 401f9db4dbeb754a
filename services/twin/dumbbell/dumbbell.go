// Package dumbbell is the network that simulators are compared on: pairs of hosts
// on access links, two routers, one link between them.
//
// In: Parameters. Out: goodput per connection and packets put on links, the same
// for the twin and for a program of tools/ns3 or tools/htsim. Next:
// services/twin/bench and services/twin/ns3, which compare them.
package dumbbell

import (
	"fmt"

	"github.com/millrace/millrace/services/twin/engine"
	"github.com/millrace/millrace/services/twin/tcp"
)

// Parameters of a run. Rates are in bit/s, delays and times in seconds; delays are one way.
type Parameters struct {
	// Pairs of hosts, and connections over all of them: connection i belongs to pair i modulo Pairs.
	Pairs, Flows int
	// Buffer of the core link in packets, the one being sent included; access links have room for all.
	Buffer int64
	// Window is the largest, Initial the first, in segments; Payload is bytes of a segment.
	Window, Initial, Payload int
	// Header bytes of a packet, 52 with timestamps, and Frame bytes of the link (PPP: 2).
	Header, Frame int
	// AckEvery is segments per acknowledgement, 1 or 2.
	AckEvery                int
	Access, Core            float64
	AccessDelay, CoreDelay  float64
	DelayStep               float64 // that each pair's sender is farther than the one before
	Loss                    float64 // probability per data packet on the core link
	Stagger, Warm, Duration float64 // between starts; before goodput counts (whole seconds); in all
	SACK                    bool
	Algorithm               string // newreno, cubic or htcp
	Seed                    uint64
}

// Standard is the dumbbell whose speed is compared: a hundred NewReno connections of small segments. The pairs are
// unequally far, because packets of equal round trips meet the full buffer in a pattern that depends on every detail
// of a simulator: then twin, htsim and ns-3 differ by 7 % of goodput.
func Standard() Parameters {
	return Parameters{
		Pairs: 10, Flows: 100, Buffer: 50, Window: 100, Initial: 2, Payload: 512, Header: 52, Frame: 2, AckEvery: 1,
		Access: 100e6, Core: 100e6, AccessDelay: 0.001, CoreDelay: 0.01, DelayStep: 0.0005, Stagger: 0.001, Duration: 60, Algorithm: "newreno", Seed: 1,
	}
}

// Result of a run.
type Result struct {
	// Goodput of all connections and of each, Mbit/s.
	Goodput float64
	Flows   []float64
	// Hops counts packets put on links.
	Hops int64
}

var algorithms = map[string]tcp.Algorithm{"newreno": tcp.Reno, "cubic": tcp.Cubic, "htcp": tcp.HTCP}

// Run plays it in the twin.
func Run(p Parameters) (Result, error) {
	n, flows, err := Build(p)
	if err != nil {
		return Result{}, err
	}
	n.Run(engine.Seconds(p.Duration))
	if err := n.Check(); err != nil {
		return Result{}, err
	}
	r := Result{Hops: n.Hops}
	for _, f := range flows {
		mbps := n.TCP(f).Series.Mean(int(p.Warm), int(p.Duration)) / 1e6
		r.Flows, r.Goodput = append(r.Flows, mbps), r.Goodput+mbps
	}
	return r, nil
}

// Build makes the network and returns its connections.
func Build(p Parameters) (*engine.Net, []int, error) {
	algorithm, known := algorithms[p.Algorithm]
	if !known || p.Pairs < 1 || p.Buffer < 1 {
		return nil, nil, fmt.Errorf("algorithm %q, %d pairs, buffer of %d packets: newreno, cubic or htcp, and at least one of each", p.Algorithm, p.Pairs, p.Buffer)
	}
	n := engine.New(p.Seed)
	var failed error
	port := func(rate, delay, loss float64, limit int64) engine.Hop {
		i, err := n.AddPort(engine.PortConfig{Rate: rate, Delay: engine.Seconds(delay), Loss: loss, LimitPackets: limit, Overhead: int32(p.Frame)})
		if err != nil {
			failed = err
		}
		return engine.At(i)
	}
	there, home := port(p.Core, p.CoreDelay, p.Loss, p.Buffer), port(p.Core, p.CoreDelay, 0, p.Buffer)
	ways, backs := make([]engine.Route, p.Pairs), make([]engine.Route, p.Pairs)
	for i := range p.Pairs {
		far := p.AccessDelay + float64(i)*p.DelayStep
		ways[i].Hops = []engine.Hop{port(p.Access, far, 0, 0), there, port(p.Access, p.AccessDelay, 0, 0)}
		backs[i].Hops = []engine.Hop{port(p.Access, p.AccessDelay, 0, 0), home, port(p.Access, far, 0, 0)}
	}
	receiver := tcp.Immediate
	if p.AckEvery > 1 {
		receiver = tcp.Delayed
	}
	var flows []int
	for i := range p.Flows {
		f, err := n.AddTCP(engine.TCPConfig{
			Config:   tcp.Config{Algorithm: algorithm, SACK: p.SACK, Window: p.Window, Initial: float64(p.Initial)},
			Receiver: receiver, AckEvery: p.AckEvery, Payload: int32(p.Payload), Header: int32(p.Header),
			Start: engine.Seconds(float64(i) * p.Stagger), Stop: engine.Never, Forward: ways[i%p.Pairs], Back: backs[i%p.Pairs],
		})
		if err != nil {
			failed = err
		}
		flows = append(flows, f)
	}
	return n, flows, failed
}
