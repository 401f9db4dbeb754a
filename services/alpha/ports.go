package alpha

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/portcounters"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

const (
	// portsWindow is over how long rates are means: a few samples of the slowest telemetry.
	portsWindow = time.Minute
	// maxPorts bounds the ports of one router that stand beside an alarm.
	maxPorts = 8
)

// portsNow are the ports of a router that sent most, or dropped anything, in the last minute. Without telemetry there
// are none.
func (c *Component) portsNow(ctx context.Context, router string) []*alphav1.PortNow {
	ctx, cancel := context.WithTimeout(ctx, besideTimeout)
	defer cancel()
	var series []*flowv1.TelemetrySeries
	now := c.deps.Now()
	for _, prefix := range []string{portcounters.PortPaths, portcounters.QueuePaths} {
		r, err := c.deps.FlowStore.Telemetry(ctx, connect.NewRequest(&flowv1.TelemetryRequest{
			Device: router, PathPrefix: prefix, From: timestamppb.New(now.Add(-portsWindow)), To: timestamppb.New(now),
		}))
		if err != nil {
			c.deps.Log.WarnContext(ctx, "telemetry beside a pair that is alpha now is not known", "router", router, "error", err)
			return nil
		}
		series = append(series, r.Msg.GetSeries()...)
	}
	return portsOf(router, series)
}

// portsOf makes rates of counters and delays of lengths: ports that drop first, then those that send most, and the same
// of their queues.
func portsOf(router string, series []*flowv1.TelemetrySeries) []*alphav1.PortNow {
	ports := map[string]*alphav1.PortNow{}
	port := func(name string) *alphav1.PortNow {
		if ports[name] == nil {
			ports[name] = &alphav1.PortNow{Router: router, Port: name}
		}
		return ports[name]
	}
	lengths := map[*alphav1.QueueNow]float64{}
	for _, s := range series {
		if name, queue, ok := portcounters.ParseLength(s.GetPath()); ok {
			lengths[queueOf(port(name), queue)] = portcounters.Mean(portcounters.Readings(s))
			continue
		}
		counter, ok := portcounters.Parse(s.GetPath())
		if !ok {
			continue
		}
		p, rate := port(counter.Port), portcounters.Rate(portcounters.Readings(s))
		switch counter.Leaf {
		case portcounters.OutOctets:
			p.BitsPerSecond = 8 * rate
		case portcounters.OutDiscards:
			p.DropsPerSecond = rate
		case portcounters.SentOctets:
			queueOf(p, counter.Queue).BitsPerSecond = 8 * rate
		case portcounters.Dropped:
			queueOf(p, counter.Queue).DropsPerSecond = rate
		}
	}
	for q, octets := range lengths {
		if ms, known := portcounters.DelayMs(octets, q.GetBitsPerSecond()/8); known {
			q.DelayMs = &ms
		}
	}
	var out []*alphav1.PortNow
	for _, p := range ports {
		slices.SortFunc(p.Queues, func(a, b *alphav1.QueueNow) int {
			return cmp.Or(cmp.Compare(b.GetDropsPerSecond(), a.GetDropsPerSecond()), cmp.Compare(a.GetQueue(), b.GetQueue()))
		})
		if busy(p) {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *alphav1.PortNow) int {
		return cmp.Or(cmp.Compare(drops(b), drops(a)), cmp.Compare(b.GetBitsPerSecond(), a.GetBitsPerSecond()), cmp.Compare(a.GetPort(), b.GetPort()))
	})
	return out[:min(len(out), maxPorts)]
}

func queueOf(p *alphav1.PortNow, name string) *alphav1.QueueNow {
	i := slices.IndexFunc(p.Queues, func(q *alphav1.QueueNow) bool { return q.GetQueue() == name })
	if i < 0 {
		p.Queues = append(p.Queues, &alphav1.QueueNow{Queue: name})
		i = len(p.Queues) - 1
	}
	return p.Queues[i]
}

func busy(p *alphav1.PortNow) bool {
	return p.GetBitsPerSecond() > 0 || drops(p) > 0 || slices.ContainsFunc(p.GetQueues(), func(q *alphav1.QueueNow) bool { return q.GetBitsPerSecond() > 0 })
}

// drops of a port are those of its queues as well, where a router counts either.
func drops(p *alphav1.PortNow) float64 {
	queues := 0.0
	for _, q := range p.GetQueues() {
		queues += q.GetDropsPerSecond()
	}
	return max(queues, p.GetDropsPerSecond())
}

// beside says in a sentence what stands beside an alarm.
func beside(m *alphav1.AlphaNow) string {
	switch {
	case m.GetRouter() == "":
		return fmt.Sprintf("Its exporter %s belongs to no device of the inventory.", m.GetPair().GetExporter())
	case len(m.GetPorts()) == 0:
		return fmt.Sprintf("No telemetry of %s is known.", m.GetRouter())
	}
	first := m.GetPorts()[0]
	text := fmt.Sprintf("No port of %s drops; %s sends most, %s", m.GetRouter(), first.GetPort(), bitRate(first.GetBitsPerSecond()))
	if drops(first) > 0 {
		text = fmt.Sprintf("%s drops most on port %s: %.1f packets/s while it sends %s", m.GetRouter(), first.GetPort(), drops(first), bitRate(first.GetBitsPerSecond()))
	}
	var queues []string
	for _, q := range first.GetQueues() {
		if said := suffers(q); said != "" {
			queues = append(queues, q.GetQueue()+" "+said)
		}
	}
	if len(queues) > 0 {
		text += "; by queue: " + strings.Join(queues, "; ")
	}
	return text + "."
}

// noticed is from which delay of a queue on an alarm names it. Less is what a few packets of a port of 10 Mbit/s take.
const noticed = 5 // ms

// suffers says what a queue drops and for how long its packets wait; "" if neither is worth a word.
func suffers(q *alphav1.QueueNow) string {
	var said []string
	if q.GetDropsPerSecond() > 0 {
		said = append(said, fmt.Sprintf("%.1f drops/s", q.GetDropsPerSecond()))
	}
	if q.GetDelayMs() >= noticed {
		said = append(said, fmt.Sprintf("packets wait %.3g ms", q.GetDelayMs()))
	}
	return strings.Join(said, ", ")
}

// portLines has a line for each port and each queue.
func portLines(ports []*alphav1.PortNow) string {
	var lines []string
	for _, p := range ports {
		lines = append(lines, fmt.Sprintf("%s %s: %s, %.1f drops/s", p.GetRouter(), p.GetPort(), bitRate(p.GetBitsPerSecond()), drops(p)))
		for _, q := range p.GetQueues() {
			line := fmt.Sprintf("%s %s %s: %s, %.1f drops/s", p.GetRouter(), p.GetPort(), q.GetQueue(), bitRate(q.GetBitsPerSecond()), q.GetDropsPerSecond())
			if q.DelayMs != nil {
				line += fmt.Sprintf(", %.3g ms", q.GetDelayMs())
			}
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

func bitRate(v float64) string {
	units := []string{"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"}
	i := 0
	for ; v >= 1000 && i < len(units)-1; i++ {
		v /= 1000
	}
	return fmt.Sprintf("%.3g %s", v, units[i])
}
