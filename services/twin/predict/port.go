package predict

import (
	"context"
	"fmt"
	"slices"

	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
	"github.com/millrace/millrace/services/twin/engine"
	"github.com/millrace/millrace/services/twin/traffic"
)

// Load is what one class offers to a port, bit/s of IP packets.
type Load struct {
	Queue string
	Rate  float64
}

// Effect is what one class gets at a port. Rates are bit/s of IP packets, delays milliseconds of waiting and sending.
type Effect struct {
	Queue            string
	Offered, Carried float64
	LossPercent      float64
	DelayMean        float64
	DelayP99         float64
}

const (
	// packetBytes is the size of every IP packet of a Load, near the mean of transfer traffic.
	packetBytes = 1250
	// fastest is the port speed that is simulated; a faster port and its loads are scaled down to it, which keeps
	// shares, losses and the delay of queues, whose buffers are stated as time.
	fastest = 10e9
	// buffers is how often the port's buffer could be emptied in one run: queues that fill are full for most of it.
	buffers = 40
	// shortest bounds the run from below, in seconds.
	shortest = 0.5
	// warm is the part of the run that is not measured.
	warm = 0.5
	// slice is how much simulated time passes between two looks at the context, in seconds.
	slice = 0.05
)

// Port simulates one port of a plan under constant loads with Poisson arrivals (senders that do not slow down).
func Port(ctx context.Context, plan compile.RouterPlan, speed float64, loads []Load, seed uint64) ([]Effect, int64, error) {
	scale := min(1, fastest/speed)
	p := &portRun{net: engine.New(seed), end: max(shortest, buffers*float64(plan.BufferTime)/1e9)}
	number, err := p.net.AddPort(engine.PortConfig{Name: plan.Router, Rate: speed * scale, Overhead: frame, Queues: Queues(plan, speed*scale)})
	if err != nil {
		return nil, 0, err
	}
	for _, l := range loads {
		if err := p.offer(plan, number, l, scale); err != nil {
			return nil, 0, err
		}
	}
	if err := p.run(ctx, warm*p.end); err != nil {
		return nil, 0, err
	}
	before := p.counters()
	if err := p.run(ctx, p.end); err != nil {
		return nil, 0, err
	}
	if err := p.net.Check(); err != nil {
		return nil, 0, fmt.Errorf("the simulation lost count of packets: %w", err)
	}
	return p.effects(before, scale), p.net.Hops, nil
}

// portRun is one simulation of a port.
type portRun struct {
	net     *engine.Net
	end     float64
	sources []offered
}

type offered struct {
	Load
	number int
}

func (p *portRun) offer(plan compile.RouterPlan, port int, l Load, scale float64) error {
	if l.Rate <= 0 {
		return nil
	}
	queue := slices.IndexFunc(plan.Queues, func(q document.Queue) bool { return q.Name == l.Queue })
	if queue < 0 {
		return fmt.Errorf("router %s has no queue %q", plan.Router, l.Queue)
	}
	hop := engine.At(port)
	hop.Queue = uint8(queue)
	n, err := p.net.AddSource(engine.SourceConfig{
		Name: l.Queue, Size: packetBytes, Stop: engine.Seconds(p.end), Forward: engine.Route{Hops: []engine.Hop{hop}},
		Pattern: traffic.Pattern{Kind: traffic.Poisson, Gap: packetBytes * 8 / (l.Rate * scale)},
	})
	p.sources = append(p.sources, offered{l, n})
	return err
}

// run goes on until a moment, and looks at the context on the way.
func (p *portRun) run(ctx context.Context, until float64) error {
	for at := float64(p.net.Now()) / float64(engine.Second); at < until; {
		if err := ctx.Err(); err != nil {
			return err
		}
		at = min(at+slice, until)
		p.net.Run(engine.Seconds(at))
	}
	return nil
}

func (p *portRun) counters() []engine.SourceCounters {
	var out []engine.SourceCounters
	for _, s := range p.sources {
		c, _, _ := p.net.Source(s.number)
		out = append(out, c)
	}
	return out
}

// effects are over the measured part of the run: what arrived and what was dropped in it.
func (p *portRun) effects(before []engine.SourceCounters, scale float64) []Effect {
	from := warm * p.end
	var out []Effect
	for i, s := range p.sources {
		now, _, delays := p.net.Source(s.number)
		d := delays.Between(from, p.end)
		received, lost := float64(now.Received-before[i].Received), float64(now.Lost-before[i].Lost)
		e := Effect{Queue: s.Queue, Offered: s.Rate, Carried: received * packetBytes * 8 / (p.end - from) / scale, DelayMean: d.Mean, DelayP99: d.P99}
		if received+lost > 0 {
			e.LossPercent = 100 * lost / (received + lost)
		}
		out = append(out, e)
	}
	return out
}
