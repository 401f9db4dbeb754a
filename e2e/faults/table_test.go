package faults

import (
	"syscall"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/faults"
	"github.com/millrace/millrace/services/push/pushtest"
)

// fault is something that breaks for a while.
type fault struct {
	name   string
	strike func(t *testing.T, w *world)
	// lasts is how long it stays broken.
	lasts time.Duration
	heal  func(t *testing.T, w *world)
}

// away is longer than a lock outlives its owner, and than a call to a router waits.
const away = 5 * time.Second

var faultTable = []fault{
	{"the push service is killed", func(t *testing.T, w *world) { w.running["push"].Signal(t, syscall.SIGKILL) }, 0,
		func(t *testing.T, w *world) { w.start(t, "push") }},
	{"the push service stands still", func(_ *testing.T, w *world) { w.running["push"].Ask(syscall.SIGSTOP) }, away,
		func(_ *testing.T, w *world) { w.running["push"].Ask(syscall.SIGCONT) }},
	{"etcd is away", func(_ *testing.T, w *world) { w.etcd.Stop() }, away,
		func(t *testing.T, w *world) { w.etcd.Again(t) }},
	network("a router resets connections", faults.Condition{Refuse: true}),
	network("nothing reaches a router", faults.Condition{StallForth: true}),
	network("nothing comes back from a router", faults.Condition{StallBack: true}),
	network("octets to and from a router take 2 s", faults.Condition{Delay: 2 * time.Second}),
	{"a router's agent restarts", func(_ *testing.T, w *world) { w.routers["WR"].Down() }, away,
		func(t *testing.T, w *world) { w.routers["WR"].Up(t) }},
	{"a router's disk is full", func(_ *testing.T, w *world) { w.routers["WR"].Inject(pushtest.ConfirmFails) }, away,
		func(_ *testing.T, w *world) { w.routers["WR"].Clear() }},
}

// network is a fault of the path to one router.
func network(name string, c faults.Condition) fault {
	return fault{name, func(_ *testing.T, w *world) { w.routers["WR"].link.Set(c) }, away,
		func(_ *testing.T, w *world) { w.routers["WR"].link.Set(faults.Condition{}) }}
}
