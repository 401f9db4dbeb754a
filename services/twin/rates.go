package twin

import (
	"fmt"
	"regexp"
	"time"

	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
	"github.com/millrace/millrace/services/twin/predict"
)

// The counters of a port and of its queues (openconfig-interfaces, openconfig-qos). Names of queues on routers begin
// with te-, those of policies do not.
var (
	queueCounter = regexp.MustCompile(`^/qos/interfaces/interface\[interface-id=([^]]+)\]/output/queues/queue\[name=(?:te-)?([^]]+)\]/state/(transmit-octets|transmit-pkts|dropped-pkts)$`)
	portOctets   = regexp.MustCompile(`^/interfaces/interface\[name=([^]]+)\]/state/counters/out-octets$`)
)

// counters of one port: growth per second of its queues' counters and of its octets.
type counters struct {
	queues map[string]map[string]float64
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
				rest -= c.queues[q.Name]["transmit-octets"]
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
		if m := queueCounter.FindStringSubmatch(s.GetPath()); m != nil {
			c := out[m[1]]
			if c.queues == nil {
				c.queues = map[string]map[string]float64{}
			}
			if c.queues[m[2]] == nil {
				c.queues[m[2]] = map[string]float64{}
			}
			c.queues[m[2]][m[3]] = growth(s.GetPoints())
			out[m[1]] = c
		} else if m := portOctets.FindStringSubmatch(s.GetPath()); m != nil {
			c := out[m[1]]
			c.octets, c.known = growth(s.GetPoints()), true
			out[m[1]] = c
		}
	}
	return out
}

// offeredBits is what senders offered to a queue, bit/s of IP packets: what it sent, and what it dropped in packets of
// the same mean size.
func offeredBits(queue map[string]float64) float64 {
	return queue["transmit-octets"] * (1 + dropRatio(queue)) * 8 * predict.IPShare
}

// dropRatio is dropped packets for each one that was sent.
func dropRatio(queue map[string]float64) float64 {
	if queue["transmit-pkts"] == 0 {
		return 0
	}
	return queue["dropped-pkts"] / queue["transmit-pkts"]
}

func defaultName(queues []document.Queue) string {
	for _, q := range queues {
		if q.Default {
			return q.Name
		}
	}
	return ""
}

// growth is the mean of a counter per second. Where the counter went back, the router restarted: what it counted
// before is added.
func growth(points []*flowv1.TelemetryPoint) float64 {
	if len(points) < 2 {
		return 0
	}
	sum := uint64(0)
	for i, p := range points[1:] {
		if before := points[i].GetValue(); p.GetValue() >= before {
			sum += p.GetValue() - before
		} else {
			sum += p.GetValue()
		}
	}
	first, last := points[0].GetTime().AsTime(), points[len(points)-1].GetTime().AsTime()
	if took := last.Sub(first); took > 0 {
		return float64(sum) / (float64(took) / float64(time.Second))
	}
	return 0
}
