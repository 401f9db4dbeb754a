package twin

import (
	"fmt"

	"github.com/millrace/millrace/internal/portcounters"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
	"github.com/millrace/millrace/services/twin/predict"
)

// counters of one port: growth per second of its queues' counters, by the names of queues in policies, and of its
// octets.
type counters struct {
	queues map[string]map[portcounters.Leaf]float64
	octets float64
	known  bool
}

// portLoads are what each planned port is offered by class: what its queues sent and dropped, and the rest of what
// the port sent in the default queue. A queue that the plan does not have counts as the default one too.
func portLoads(p compile.RouterPlan, series []*flowv1.TelemetrySeries) (map[portKey][]predict.Load, []string) {
	counted := byPort(series)
	out := map[portKey][]predict.Load{}
	var notes []string
	for _, port := range p.Ports {
		c, any := counted[port.Interface]
		if any && !c.known {
			notes = append(notes, fmt.Sprintf("router %s, port %s: its own counter is not known, so the default queue is taken to be empty", p.Router, port.Interface))
		}
		k, rest := portKey{p.Router, port.Interface}, c.octets
		for _, q := range p.Queues {
			if !q.Default {
				rest -= c.queues[q.Name][portcounters.SentOctets]
				out[k] = append(out[k], predict.Load{Queue: q.Name, Rate: offeredBits(c.queues[q.Name])})
			}
		}
		name := defaultName(p.Queues)
		rest = max(rest, 0) * (1 + dropRatio(c.queues[name]))
		out[k] = append(out[k], predict.Load{Queue: name, Rate: rest * 8 * predict.IPShare})
	}
	return out, notes
}

func byPort(series []*flowv1.TelemetrySeries) map[string]counters {
	out := map[string]counters{}
	for _, s := range series {
		counter, ok := portcounters.Parse(s.GetPath())
		if !ok {
			continue
		}
		c, rate := out[counter.Port], portcounters.Rate(portcounters.Readings(s))
		name, _ := counter.PolicyQueue()
		switch {
		case name != "":
			c.add(name, counter.Leaf, rate)
		case counter.Leaf == portcounters.OutOctets:
			c.octets, c.known = rate, true
		default:
			continue
		}
		out[counter.Port] = c
	}
	return out
}

func (c *counters) add(queue string, leaf portcounters.Leaf, rate float64) {
	if c.queues == nil {
		c.queues = map[string]map[portcounters.Leaf]float64{}
	}
	if c.queues[queue] == nil {
		c.queues[queue] = map[portcounters.Leaf]float64{}
	}
	c.queues[queue][leaf] = rate
}

// offeredBits is what senders offered to a queue, bit/s of IP packets: what it sent, and what it dropped in packets of
// the same mean size.
func offeredBits(queue map[portcounters.Leaf]float64) float64 {
	return queue[portcounters.SentOctets] * (1 + dropRatio(queue)) * 8 * predict.IPShare
}

// dropRatio is dropped packets for each one that was sent.
func dropRatio(queue map[portcounters.Leaf]float64) float64 {
	if queue[portcounters.SentPackets] == 0 {
		return 0
	}
	return queue[portcounters.Dropped] / queue[portcounters.SentPackets]
}

func defaultName(queues []document.Queue) string {
	for _, q := range queues {
		if q.Default {
			return q.Name
		}
	}
	return ""
}
