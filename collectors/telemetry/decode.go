package telemetry

import (
	"strings"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/gnmiclient"
	"github.com/millrace/millrace/internal/portcounters"
	telemetryv1 "github.com/millrace/millrace/proto/gen/millrace/telemetry/v1"
)

// paths are the sampled paths, the most important first: for a router that refuses one, it and all paths
// after it are left out.
var paths = []string{
	// openconfig-interfaces
	"/interfaces/interface[name=*]/state/counters",
	// openconfig-qos: what each queue sent and dropped
	"/qos/interfaces/interface[interface-id=*]/output/queues/queue[name=*]/state",
	// openconfig-policy-forwarding: what each redirect rule matched
	"/network-instances/network-instance[name=*]/policy-forwarding/policies/policy[policy-id=*]/rules/rule[sequence-id=*]/state",
	// te-qos-ext: what circuits sent within their rates and above
	"/qos/scheduler-policies/scheduler-policy[name=*]/schedulers/scheduler[sequence=*]/one-rate-two-color/state",
	// te-circuit-ext: what entered and left circuits between ports
	"/network-instances/network-instance[name=*]/connection-points/connection-point[connection-point-id=*]/endpoints/endpoint[endpoint-id=*]/state",
}

// counterSuffixes end the names of all counters under paths.
var counterSuffixes = []string{"-octets", "-pkts", "-packets", "-discards", "-errors"}

// isTaken: the counters, and the lengths of queues.
func isTaken(leaf string) bool {
	for _, s := range counterSuffixes {
		if strings.HasSuffix(leaf, s) {
			return true
		}
	}
	return leaf == portcounters.Length
}

const (
	// maxBehind and maxAhead are how far a router's clock may be from the collector's. Counters that waited for the bus
	// are old; what is older than a day, or in the future, has a wrong time. The store keeps a partition per day: times
	// of the year 2100 would never be deleted, those of 1990 at once.
	maxBehind = 24 * time.Hour
	maxAhead  = 10 * time.Minute
)

// timeOf is the notification's time, or that of its arrival where it has none that is plausible.
func timeOf(n *gnmi.Notification, now time.Time) (at time.Time, wrong bool) {
	at = time.Unix(0, n.GetTimestamp())
	switch {
	case n.GetTimestamp() <= 0:
		return now, false
	case at.Before(now.Add(-maxBehind)), at.After(now.Add(maxAhead)):
		return now, true
	}
	return at, false
}

// decoded is the content of a notification: none where that is no counter.
type decoded struct {
	counters []*telemetryv1.Counter
	// unreadable counts counters whose path or value could not be parsed.
	unreadable int
	// wrongTime is set where the counters have the time of their arrival, because the router's timestamp is
	// not plausible.
	wrongTime bool
}

func decode(n *gnmi.Notification, now time.Time) (d decoded) {
	t, wrong := timeOf(n, now)
	at := timestamppb.New(t)
	for _, u := range n.GetUpdate() {
		p := gnmiclient.Join(n.GetPrefix(), u.GetPath())
		elems := p.GetElem()
		if len(elems) == 0 || !isTaken(elems[len(elems)-1].GetName()) {
			continue
		}
		path, err := gnmiclient.FormatPath(p)
		value, ok := gnmiclient.Uint(u.GetVal())
		if err != nil || !ok {
			d.unreadable++
			continue
		}
		d.counters = append(d.counters, &telemetryv1.Counter{Path: path, Value: value, Time: at})
	}
	d.wrongTime = wrong && len(d.counters) > 0
	return d
}
