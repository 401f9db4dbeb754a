package flowstore

import (
	"strings"

	"github.com/millrace/millrace/internal/configentry"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// The counters of a circuit for packets are those of its profile on its ingress router, those of a circuit between
// ports are those of its endpoint on the router at each port, see services/policy/render/openconfig.
const (
	profilePath = "/qos/scheduler-policies/scheduler-policy[name=" + configentry.ProfilePrefix
	profileEnd  = "]/schedulers/scheduler[sequence=1]/one-rate-two-color/state/"

	endpointPath = "/network-instances/network-instance[name=" + configentry.CircuitPrefix
	endpointFrom = "]/connection-points/connection-point[connection-point-id=local]/endpoints/endpoint[endpoint-id=" + configentry.FromEnd + "]/state/"
	endpointTo   = "]/connection-points/connection-point[connection-point-id=local]/endpoints/endpoint[endpoint-id=" + configentry.ToEnd + "]/state/"
)

// returning begins the stored names of the counters of what enters a circuit at to_port.
const returning = "return-"

// circuitCounter is the circuit of a path and the name that its counter is stored under; false for paths of anything
// else, and for what leaves a circuit, of which nobody asks: what entered at the other port is known.
func circuitCounter(path string) (circuit, counter string, ok bool) {
	for _, at := range [...]struct{ begin, end, prefix string }{
		{profilePath, profileEnd, ""}, {endpointPath, endpointFrom, ""}, {endpointPath, endpointTo, returning},
	} {
		rest, begins := strings.CutPrefix(path, at.begin)
		if circuit, counter, ok = strings.Cut(rest, at.end); begins && ok && circuit != "" {
			return circuit, at.prefix + counter, at.begin == profilePath || strings.HasPrefix(counter, "in-")
		}
	}
	return "", "", false
}

// addReading adds what a counter of a circuit grew by to the last point.
func addReading(to *flowv1.CircuitUsage, counter string, n uint64) {
	p := to.GetPoints()[len(to.GetPoints())-1]
	switch counter {
	case "conforming-octets", "in-octets":
		p.InProfileOctets += n
		to.Counted = true
	case "conforming-pkts", "in-pkts":
		p.InProfilePackets += n
	case "exceeding-octets":
		p.ExcessOctets += n
	case "exceeding-pkts":
		p.ExcessPackets += n
	case returning + "in-octets":
		p.ReturnOctets += n
		to.ReturnCounted = true
	case returning + "in-pkts":
		p.ReturnPackets += n
	}
}
