package predict

import (
	"context"
	"errors"
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
	// Packets is how many the figures are of.
	Packets int64
}

const (
	// packetBytes is the size of every IP packet of a Load, near the mean of transfer traffic.
	packetBytes = 1250
	// Fastest is the port speed that is simulated, bit/s. A faster port and its loads are scaled down
	// to it, which keeps shares, losses and delays of queues that are full, because their buffers are
	// stated as time. A queue that is nearly empty gets the time to send a packet at Fastest.
	Fastest = 10e9
	// slowest is the least port speed that is simulated, bit/s: a packet takes more than a second on it.
	slowest = 8e3
	// mostLoad is the most that a class may offer, in parts of the port's speed.
	mostLoad = 100
	// buffers is how often the port's buffer could be emptied in one run: queues that fill are full for most of it.
	buffers = 40
	// shortest bounds the run from below, in seconds.
	shortest = 0.5
	// enough is how many packets the slowest class should send in the measured part, as long as all classes together
	// send no more than most.
	enough, most = 2_000, 2e6
	// longest bounds the run from above, in seconds: time is counted in picoseconds, 64 bits of which are 100 days.
	// A class of less than least bit/s would send no hundred packets in it, and is not simulated.
	longest, least = 1e6, 2
	// warm is the part of the run that is not measured.
	warm = 0.5
)

// IPShare is the part of what ports and queues count that is IP: they count the Ethernet header too.
const IPShare = float64(packetBytes) / (packetBytes + frame)

// ErrLoad is of a class that offers more than can be simulated.
var ErrLoad = errors.New("its load is beyond reason")

// Port simulates one port of a plan under constant loads with Poisson arrivals (senders that do not slow down).
func Port(ctx context.Context, plan compile.RouterPlan, speed float64, loads []Load, seed uint64) ([]Effect, int64, error) {
	if speed < slowest {
		return nil, 0, fmt.Errorf("a port of %.0f bit/s is not simulated; the least is %.0f", speed, slowest)
	}
	loads, err := offers(plan, speed, loads)
	if err != nil {
		return nil, 0, err
	}
	scale := min(1, Fastest/speed)
	var idle []Effect
	loads = slices.DeleteFunc(loads, func(l Load) bool {
		if l.Rate*scale < least {
			idle = append(idle, Effect{Queue: l.Queue, Offered: l.Rate})
		}
		return l.Rate*scale < least
	})
	p := &portRun{net: engine.New(seed), end: duration(plan, scale, loads)}
	number, err := p.net.AddPort(engine.PortConfig{Name: plan.Router, Rate: speed * scale, Overhead: frame, Queues: Queues(plan, speed*scale)})
	if err != nil {
		return nil, 0, err
	}
	for _, l := range loads {
		if err := p.offer(plan, number, l, scale); err != nil {
			return nil, 0, err
		}
	}
	if err := advance(ctx, p.net, warm*p.end); err != nil {
		return nil, 0, err
	}
	before := p.counters()
	if err := advance(ctx, p.net, p.end); err != nil {
		return nil, 0, err
	}
	if err := p.net.Check(); err != nil {
		return nil, 0, fmt.Errorf("%w: %w", ErrConservation, err)
	}
	return append(p.effects(before, scale), idle...), p.net.Hops, nil
}

// offers are the loads above zero, one for each queue, checked.
func offers(plan compile.RouterPlan, speed float64, loads []Load) ([]Load, error) {
	var out []Load
	for _, l := range loads {
		switch i := slices.IndexFunc(out, func(o Load) bool { return o.Queue == l.Queue }); {
		case queueNamed(plan, l.Queue) < 0:
			return nil, fmt.Errorf("router %s has no queue %q", plan.Router, l.Queue)
		case l.Rate <= 0:
		case i >= 0:
			out[i].Rate += l.Rate
		default:
			out = append(out, l)
		}
	}
	for _, l := range out {
		if l.Rate > mostLoad*speed {
			return nil, fmt.Errorf("%w: queue %s offers %.4g bit/s, more than %d times the port's speed", ErrLoad, l.Queue, l.Rate, mostLoad)
		}
	}
	return out, nil
}

func queueNamed(plan compile.RouterPlan, name string) int {
	return slices.IndexFunc(plan.Queues, func(q document.Queue) bool { return q.Name == name })
}

// duration of a run in seconds: long enough for the buffer to settle, and for the slowest class to send enough packets
// as far as that is not too many of all.
func duration(plan compile.RouterPlan, scale float64, loads []Load) float64 {
	slowest, all := 0.0, 0.0
	for _, l := range loads {
		packets := l.Rate * scale / (packetBytes * 8)
		all += packets
		slowest = max(slowest, enough/packets/(1-warm))
	}
	if all > 0 {
		slowest = min(slowest, most/all)
	}
	return min(longest, max(shortest, buffers*float64(plan.BufferTime)/1e9, slowest))
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
	hop := engine.At(port)
	hop.Queue = uint8(queueNamed(plan, l.Queue))
	n, err := p.net.AddSource(engine.SourceConfig{
		Name: l.Queue, Size: packetBytes, Stop: engine.Seconds(p.end), Forward: engine.Route{Hops: []engine.Hop{hop}},
		Pattern: traffic.Pattern{Kind: traffic.Poisson, Gap: packetBytes * 8 / (l.Rate * scale)},
	})
	p.sources = append(p.sources, offered{l, n})
	return err
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
		e := Effect{Queue: s.Queue, Offered: s.Rate, Carried: received * packetBytes * 8 / (p.end - from) / scale, DelayMean: d.Mean, DelayP99: d.P99,
			Packets: int64(received + lost)}
		if received+lost > 0 {
			e.LossPercent = 100 * lost / (received + lost)
		}
		out = append(out, e)
	}
	return out
}
