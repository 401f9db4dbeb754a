package plane

import (
	"syscall"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/faults"
	"github.com/millrace/millrace/services/push/pushtest"
)

// Fault is something that breaks for a while.
type Fault struct {
	Name string
	// Prepare is done before anything else, where the fault needs it.
	Prepare func(t *testing.T, p *Plane)
	Strike  func(t *testing.T, p *Plane)
	// Lasts is how long it stays broken.
	Lasts time.Duration
	Heal  func(t *testing.T, p *Plane)
	// Forgets is true where etcd loses what was recorded since Prepare, Loses where the flow store loses what was
	// stored since.
	Forgets, Loses bool
}

// Away is longer than a lock outlives its owner, and than a call to a router waits.
const Away = 5 * time.Second

// fault lasts as long as most.
func fault(name string, strike, heal func(t *testing.T, p *Plane)) Fault {
	return Fault{Name: name, Strike: strike, Lasts: Away, Heal: heal}
}

// StateFault is that of what keeps records.
var StateFault = fault("etcd is away", func(_ *testing.T, p *Plane) { p.Etcd.Stop() }, func(t *testing.T, p *Plane) { p.Etcd.Again(t) })

// ChangeSetFaults are those of what a change set stands on.
var ChangeSetFaults = []Fault{
	Killed("push"),
	Stopped("push"),
	StateFault,
	network("a router resets connections", faults.Condition{Refuse: true}),
	network("nothing reaches a router", faults.Condition{StallForth: true}),
	network("nothing comes back from a router", faults.Condition{StallBack: true}),
	network("octets to and from a router take 2 s", faults.Condition{Delay: 2 * time.Second}),
	fault("a router's agent restarts", func(_ *testing.T, p *Plane) { p.Routers["WR"].Down() },
		func(t *testing.T, p *Plane) { p.Routers["WR"].Up(t) }),
	fault("a router's disk is full", func(_ *testing.T, p *Plane) { p.Routers["WR"].Inject(pushtest.ConfirmFails) },
		func(_ *testing.T, p *Plane) { p.Routers["WR"].Clear() }),
}

// CertificateFault is a router's certificate that expires while change sets go on: connections that are open stay, and
// none is opened any more. The router's are reset, so that the control plane has to open one.
var CertificateFault = fault("a router's certificate has expired", func(_ *testing.T, p *Plane) {
	p.Routers["WR"].Certificate.Expire()
	p.Routers["WR"].Link.Set(faults.Condition{Refuse: true})
	p.Routers["WR"].Link.Set(faults.Condition{})
}, func(_ *testing.T, p *Plane) { p.Routers["WR"].Certificate.Renew() })

// BusFault is that of what carries facts.
var BusFault = fault("Kafka is away", func(_ *testing.T, p *Plane) { p.Kafka.Stop() }, func(t *testing.T, p *Plane) { p.Kafka.Again(t) })

// Killed is a service that ends at any instruction, and is started again at once.
func Killed(service string) Fault {
	f := fault("the "+service+" service is killed", func(t *testing.T, p *Plane) { p.Running[service].Signal(t, syscall.SIGKILL) },
		func(t *testing.T, p *Plane) { p.Start(t, service) })
	f.Lasts = 0
	return f
}

// Stopped is a service that stands still, as on a host that has no memory or no processor left.
func Stopped(service string) Fault {
	return fault("the "+service+" service stands still", func(t *testing.T, p *Plane) { p.Running[service].Stand(t) },
		func(t *testing.T, p *Plane) { p.Running[service].Move(t) })
}

// network is a fault of the path to one router.
func network(name string, c faults.Condition) Fault {
	return fault(name, func(_ *testing.T, p *Plane) { p.Routers["WR"].Link.Set(c) },
		func(_ *testing.T, p *Plane) { p.Routers["WR"].Link.Set(faults.Condition{}) })
}
