package faults

import (
	"flag"
	"syscall"
	"testing"
	"time"

	"github.com/millrace/millrace/e2e/plane"
	"github.com/millrace/millrace/services/push/pushtest"
)

var outage = flag.Duration("outage", 10*time.Second, "how long etcd, Kafka and ClickHouse are away in the table of long outages")

// storeFault is ClickHouse's, whose engine is in the flow store's process.
var storeFault = plane.Fault{
	Name:   "the flow store is away with its ClickHouse",
	Strike: func(t *testing.T, p *plane.Plane) { p.Running["flowstore"].Signal(t, syscall.SIGKILL) },
	Heal:   func(t *testing.T, p *plane.Plane) { p.Start(t, "flowstore") },
}

// long is a fault that lasts longer than what is tried again in between.
func long(f plane.Fault) plane.Fault {
	f.Name, f.Lasts = f.Name+" for "+outage.String(), *outage
	return f
}

// outageMoment is that of a change set which most is under way at.
const outageMoment = string(pushtest.BeforeConfirm)

// outages are long outages at the moments that they can meet.
func outages() []struct {
	moment string
	faults []plane.Fault
} {
	etcd, kafka, store := long(plane.StateFault), long(plane.BusFault), long(storeFault)
	return []struct {
		moment string
		faults []plane.Fault
	}{
		{outageMoment, []plane.Fault{etcd, kafka}},
		{readsFlows, []plane.Fault{etcd, kafka, store}},
		{sentHalf, []plane.Fault{kafka, store}},
		{weightsReached, []plane.Fault{etcd}},
	}
}
