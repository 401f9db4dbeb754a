package telemetry

import (
	"crypto/rand"
	"strings"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/gnmiclient"
	telemetryv1 "github.com/millrace/millrace/proto/gen/millrace/telemetry/v1"
)

// paths are what is sampled, in the order in which routers can do without:
// a router that refuses one gets the list without it and all after it.
var paths = []string{
	// openconfig-interfaces
	"/interfaces/interface[name=*]/state/counters",
	// openconfig-qos: what each queue sent and dropped
	"/qos/interfaces/interface[interface-id=*]/output/queues/queue[name=*]/state",
	// openconfig-policy-forwarding: what each redirect rule matched
	"/network-instances/network-instance[name=*]/policy-forwarding/policies/policy[policy-id=*]/rules/rule[sequence-id=*]/state",
}

// counterSuffixes end the names of all counter64 leaves under paths;
// other leaves there are names and numbers of entries.
var counterSuffixes = []string{"-octets", "-pkts", "-packets", "-discards", "-errors"}

func isCounter(leaf string) bool {
	for _, s := range counterSuffixes {
		if strings.HasSuffix(leaf, s) {
			return true
		}
	}
	return false
}

// decode turns one notification into a batch; nil where it holds no counter.
// unreadable counts counters whose path or value made no sense.
func decode(device string, n *gnmi.Notification, now time.Time) (batch *telemetryv1.CounterBatch, unreadable int) {
	at := timestamppb.New(now)
	if n.GetTimestamp() > 0 {
		at = timestamppb.New(time.Unix(0, n.GetTimestamp()))
	}
	var counters []*telemetryv1.Counter
	for _, u := range n.GetUpdate() {
		p := gnmiclient.Join(n.GetPrefix(), u.GetPath())
		elems := p.GetElem()
		if len(elems) == 0 || !isCounter(elems[len(elems)-1].GetName()) {
			continue
		}
		path, err := gnmiclient.FormatPath(p)
		value, ok := gnmiclient.Uint(u.GetVal())
		if err != nil || !ok {
			unreadable++
			continue
		}
		counters = append(counters, &telemetryv1.Counter{Path: path, Value: value, Time: at})
	}
	if len(counters) == 0 {
		return nil, unreadable
	}
	return &telemetryv1.CounterBatch{BatchId: rand.Text(), Device: device, Counters: counters}, unreadable
}
