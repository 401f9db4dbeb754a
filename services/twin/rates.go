package twin

import (
	"regexp"

	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
	"github.com/millrace/millrace/services/twin/predict"
)

// The counters of a port and of its queues (openconfig-interfaces, openconfig-qos). Names of queues on routers begin
// with te-, those of policies do not.
var (
	queueOctets = regexp.MustCompile(`^/qos/interfaces/interface\[interface-id=([^]]+)\]/output/queues/queue\[name=(?:te-)?([^]]+)\]/state/transmit-octets$`)
	portOctets  = regexp.MustCompile(`^/interfaces/interface\[name=([^]]+)\]/state/counters/out-octets$`)
)

// portLoads are what each planned port carried by class: what its queues counted, and the rest of what the port
// counted in the default queue. A queue that the plan does not have counts as the default one too.
func portLoads(p compile.RouterPlan, series []*flowv1.TelemetrySeries) map[portKey][]predict.Load {
	byQueue, whole := map[portKey]map[string]float64{}, map[portKey]float64{}
	for _, s := range series {
		if m := queueOctets.FindStringSubmatch(s.GetPath()); m != nil {
			k := portKey{p.Router, m[1]}
			if byQueue[k] == nil {
				byQueue[k] = map[string]float64{}
			}
			byQueue[k][m[2]] = rate(s.GetPoints())
		} else if m := portOctets.FindStringSubmatch(s.GetPath()); m != nil {
			whole[portKey{p.Router, m[1]}] = rate(s.GetPoints())
		}
	}
	out := map[portKey][]predict.Load{}
	for _, port := range p.Ports {
		k := portKey{p.Router, port.Interface}
		rest := whole[k]
		for _, q := range p.Queues {
			if q.Default {
				continue
			}
			rest -= byQueue[k][q.Name]
			out[k] = append(out[k], predict.Load{Queue: q.Name, Rate: byQueue[k][q.Name]})
		}
		out[k] = append(out[k], predict.Load{Queue: defaultName(p.Queues), Rate: max(rest, 0)})
	}
	return out
}

func defaultName(queues []document.Queue) string {
	for _, q := range queues {
		if q.Default {
			return q.Name
		}
	}
	return ""
}

// rate is the mean of a counter of octets in bit/s. Where the counter went back, the router restarted: what it
// counted before is added.
func rate(points []*flowv1.TelemetryPoint) float64 {
	if len(points) < 2 {
		return 0
	}
	octets := uint64(0)
	for i, p := range points[1:] {
		if before := points[i].GetValue(); p.GetValue() >= before {
			octets += p.GetValue() - before
		} else {
			octets += p.GetValue()
		}
	}
	seconds := points[len(points)-1].GetTime().AsTime().Sub(points[0].GetTime().AsTime()).Seconds()
	if seconds <= 0 {
		return 0
	}
	return float64(octets) * 8 / seconds
}
