package plane

import (
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/faults"
)

// Faults of the hosts that services and etcd run on, and of what they receive.

// OlderDataFault is an etcd that a backup is restored into while services run.
var OlderDataFault = Fault{
	Name: "etcd comes back with older data", Forgets: true, Lasts: Away,
	Prepare: func(t *testing.T, p *Plane) { p.Etcd.Keep(t) },
	Strike:  func(_ *testing.T, p *Plane) { p.Etcd.Stop() },
	Heal: func(t *testing.T, p *Plane) {
		p.Etcd.PutBack(t)
		p.Etcd.Again(t)
	},
}

// FullStateFault is an etcd at its quota: it answers, and takes no writes. It needs an etcd with a small one.
var FullStateFault = fault("etcd is full", func(t *testing.T, p *Plane) { p.Etcd.Fill(t) }, func(t *testing.T, p *Plane) { p.Etcd.Empty(t) })

// SlowStateFault is an etcd whose answers take 2 s more: what its clients see of a slow disk under it.
var SlowStateFault = fault("etcd's answers take 2 s",
	func(_ *testing.T, p *Plane) { p.EtcdLink.Set(faults.Condition{Delay: time.Second}) },
	func(_ *testing.T, p *Plane) { p.EtcdLink.Set(faults.Condition{}) })

// ClockFault is the clock of the services' host, which steps, and steps back when the fault is over. Etcd, Kafka and
// the routers are on other hosts.
func ClockFault(name string, off time.Duration) Fault {
	step := func(off time.Duration) func(t *testing.T, p *Plane) {
		return func(t *testing.T, p *Plane) {
			for _, service := range p.Running {
				faults.ShiftClock(t, service.Pid(), off)
			}
		}
	}
	return fault(name, step(off), step(0))
}

// repeated is how many messages of each topic come again.
const repeated = 100

// RepeatFault has what is on the bus come again, twice and in the wrong order.
var RepeatFault = fault("messages come twice, newest first", func(t *testing.T, p *Plane) { p.Kafka.Repeat(t, repeated) }, func(*testing.T, *Plane) {})

// LossFault is a network that loses packets to and from a router.
var LossFault = fault("30 % of packets to and from a router are lost",
	func(t *testing.T, p *Plane) { faults.Lose(t, p.Routers["WR"].Link.Address(), 0.3) },
	func(t *testing.T, _ *Plane) { faults.StopLosing(t) })
