// Package portcounters reads what routers count at an egress port and in its queues, as openconfig-interfaces and
// openconfig-qos name it.
//
// In: paths and points of telemetry. Out: which counter, or which queue's length, a path names, its readings, and by
// how much it rose. Next: services/split, services/twin, services/alpha and services/push, which each decide on them.
//
// Mutation testing: 26 of 26 killed (docs/reference/mutants.md).
package portcounters

import (
	"regexp"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/configentry"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// QueuePaths and PortPaths begin the paths of the counters of queues and of ports.
const (
	QueuePaths = "/qos/interfaces"
	PortPaths  = "/interfaces"
)

// Leaf is what a counter counts.
type Leaf string

// Length is the leaf that says how many octets wait in a queue. It is no counter: it rises and falls.
const Length = "avg-queue-len"

// The counters of a port, and those of a queue.
const (
	OutOctets   Leaf = "out-octets"
	OutDiscards Leaf = "out-discards"

	SentOctets  Leaf = "transmit-octets"
	SentPackets Leaf = "transmit-pkts"
	Dropped     Leaf = "dropped-pkts"
)

var (
	portPath  = regexp.MustCompile(`^` + PortPaths + `/interface\[name=([^]]+)\]/state/counters/(out-octets|out-discards)$`)
	queuePath = regexp.MustCompile(`^` + QueuePaths + `/interface\[interface-id=([^]]+)\]/output/queues/queue\[name=([^]]+)\]/state/(transmit-octets|transmit-pkts|dropped-pkts)$`)
)

// Counter is one of a port or, where Queue is set, of one of its queues.
type Counter struct {
	Port, Queue string
	Leaf        Leaf
}

// Parse reports which counter a path names, if it is one of those above.
func Parse(path string) (Counter, bool) {
	if m := queuePath.FindStringSubmatch(path); m != nil {
		return Counter{Port: m[1], Queue: m[2], Leaf: Leaf(m[3])}, true
	}
	if m := portPath.FindStringSubmatch(path); m != nil {
		return Counter{Port: m[1], Leaf: Leaf(m[2])}, true
	}
	return Counter{}, false
}

var lengthPath = regexp.MustCompile(`^` + QueuePaths + `/interface\[interface-id=([^]]+)\]/output/queues/queue\[name=([^]]+)\]/state/` + Length + `$`)

// ParseLength reports of which queue a path names the length.
func ParseLength(path string) (port, queue string, ok bool) {
	m := lengthPath.FindStringSubmatch(path)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

// PolicyQueue is the queue's name in its policy, and whether Millrace configured the queue. One that it did not
// configure has the same name there as on the router.
func (c Counter) PolicyQueue() (name string, owned bool) {
	return strings.CutPrefix(c.Queue, configentry.OwnedPrefix)
}

// Reading is one value of a counter.
type Reading struct {
	At    time.Time
	Value uint64
}

// Readings are the points of a series, oldest first as those are.
func Readings(s *flowv1.TelemetrySeries) []Reading {
	var out []Reading
	for _, p := range s.GetPoints() {
		out = append(out, Reading{At: p.GetTime().AsTime(), Value: p.GetValue()})
	}
	return out
}

// Mean is that of the readings of a length; 0 without any.
func Mean(list []Reading) float64 {
	sum := 0.0
	for _, r := range list {
		sum += float64(r.Value)
	}
	return sum / float64(max(len(list), 1))
}

// DelayMs is for how many milliseconds packets wait in a queue, by its mean length and by what leaves it (Little's
// law): unknown where nothing does.
func DelayMs(octets, octetsPerSecond float64) (ms float64, known bool) {
	if octetsPerSecond <= 0 {
		return 0, false
	}
	return 1000 * octets / octetsPerSecond, true
}

// Growth is by how much a counter rose between its first reading and its last. Where it went back, the router
// restarted and counted from 0 again: what it has counted since then is added.
func Growth(list []Reading) (sum uint64) {
	for i := 1; i < len(list); i++ {
		sum += list[i].Value
		if before := list[i-1].Value; list[i].Value >= before {
			sum -= before
		}
	}
	return sum
}

// Rate is the mean growth per second; 0 without two readings at different times.
func Rate(list []Reading) float64 {
	if len(list) < 2 {
		return 0
	}
	took := list[len(list)-1].At.Sub(list[0].At)
	if took <= 0 {
		return 0
	}
	return float64(Growth(list)) / took.Seconds()
}
