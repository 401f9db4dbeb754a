package cluster

import (
	"fmt"
	"slices"
	"syscall"
	"testing"

	"github.com/millrace/millrace/internal/testkit/faults"
	"github.com/millrace/millrace/internal/testkit/program"
)

// fault is something that breaks until it is mended.
type fault struct {
	name         string
	strike, heal func(t *testing.T, w *world)
	// takes are the processes that are away, such as h1-push.
	takes []string
}

type testcase struct {
	work  work
	fault fault
}

// takesPart are the services of each work, beside those that every request meets.
var takesPart = []struct {
	work
	services []string
}{
	{importing, []string{"flow"}},
	{night, []string{"alpha", "push", "policy", "paths"}},
	{changing, []string{"push", "policy", "paths", "topology", "telemetry", "split", "twin", "circuits"}},
	{weighing, []string{"vpn", "paths"}},
}

// always are the services that every request meets.
var always = []string{"dashboard", "identity", "audit"}

// cases: each process of a work is killed and stands still, on either host; each host is killed, stands still and is
// cut off in each direction and in both; each member of a store is killed and stands still; two things of different
// kinds at once. Of a store's members one after the other is taken.
func cases() (all []testcase) {
	for i, p := range takesPart {
		var meets []fault
		for j, service := range slices.Concat(p.services, always) {
			meets = append(meets, killed(j%2, service), stands(1-j%2, service))
		}
		for h := range 3 {
			if h == 2 && (p.name == importing.name || p.name == night.name) {
				continue // the flow store is there, and there is one
			}
			meets = append(meets, hostKilled(h), hostStands(h), hostCut(h, "nothing reaches", faults.Out), hostCut(h, "nothing comes from", faults.In), hostCut(h, "nothing passes to or from", faults.In, faults.Out))
		}
		meets = append(meets, memberKilled(i%3), nodeKilled(i%3), memberStands((i+1)%3), nodeStands((i+1)%3))
		meets = append(meets,
			both(killed(0, p.services[0]), memberStands(1)),
			both(stands(1, p.services[0]), nodeKilled(2)),
			both(memberKilled(2), nodeStands(0)),
			both(hostCut(0, "nothing passes to or from", faults.In, faults.Out), killed(0, p.services[0])),
		)
		for _, f := range meets {
			all = append(all, testcase{p.work, f})
		}
	}
	return all
}

func named(h int) string { return fmt.Sprint("h", h+1) }

// killed is a service that ends at any instruction, and is not started again until later.
func killed(h int, service string) fault {
	return fault{name: service + " on " + named(h) + " is killed", takes: []string{named(h) + "-" + service},
		strike: func(t *testing.T, w *world) { w.running[named(h)+"-"+service].Signal(t, syscall.SIGKILL) },
		heal: func(t *testing.T, w *world) {
			w.launch(t, w.hosts[h], service)
			w.ready(t, w.hosts[h], service)
		}}
}

// stands is a service that stands still.
func stands(h int, service string) fault {
	return fault{name: service + " on " + named(h) + " stands still", takes: []string{named(h) + "-" + service},
		strike: func(t *testing.T, w *world) { w.running[named(h)+"-"+service].Stand(t) },
		heal:   func(t *testing.T, w *world) { w.running[named(h)+"-"+service].Move(t) }}
}

func memberKilled(h int) fault {
	return fault{name: "etcd on " + named(h) + " is killed",
		strike: func(t *testing.T, w *world) { w.running[named(h)+"-etcd"].Signal(t, syscall.SIGKILL) },
		heal:   func(t *testing.T, w *world) { w.running[named(h)+"-etcd"] = w.startMember(t, w.hosts[h], w.members[h]) }}
}

func memberStands(h int) fault { return stands(h, "etcd") }

func nodeKilled(h int) fault {
	return fault{name: "Kafka on " + named(h) + " is killed",
		strike: func(_ *testing.T, w *world) { w.kafka[h].Kill() },
		heal:   func(t *testing.T, w *world) { w.kafka[h].Again(t) }}
}

func nodeStands(h int) fault {
	return fault{name: "Kafka on " + named(h) + " stands still",
		strike: func(t *testing.T, w *world) { w.kafka[h].Stand(t) },
		heal:   func(t *testing.T, w *world) { w.kafka[h].Move(t) }}
}

// of are the names of a host's services.
func of(h int) (names []string) {
	for _, service := range services(named(h)) {
		names = append(names, named(h)+"-"+service)
	}
	return names
}

// processes are those of a host, but Kafka's.
func (w *world) processes(h int) (all []*program.Process) {
	for _, name := range append(of(h), named(h)+"-etcd") {
		all = append(all, w.running[name])
	}
	return all
}

// hostKilled is a power failure: all its processes end, and come back.
func hostKilled(h int) fault {
	return fault{name: "host " + named(h) + " loses power", takes: of(h),
		strike: func(t *testing.T, w *world) {
			for _, p := range w.processes(h) {
				p.Ask(syscall.SIGKILL)
			}
			w.kafka[h].Kill()
			for _, p := range w.processes(h) {
				p.Signal(t, syscall.SIGKILL)
			}
		},
		heal: func(t *testing.T, w *world) {
			w.running[named(h)+"-etcd"] = w.startMember(t, w.hosts[h], w.members[h])
			for _, service := range services(named(h)) {
				w.launch(t, w.hosts[h], service)
			}
			w.kafka[h].Again(t)
			for _, service := range services(named(h)) {
				w.ready(t, w.hosts[h], service)
			}
		}}
}

// hostStands is a host that has no processor left.
func hostStands(h int) fault {
	return fault{name: "host " + named(h) + " stands still", takes: of(h),
		strike: func(t *testing.T, w *world) {
			for _, p := range w.processes(h) {
				p.Stand(t)
			}
			w.kafka[h].Stand(t)
		},
		heal: func(t *testing.T, w *world) {
			w.kafka[h].Move(t)
			for _, p := range w.processes(h) {
				p.Move(t)
			}
		}}
}

// hostCut is a host that is off the network in some directions, and goes on.
func hostCut(h int, what string, directions ...faults.Direction) fault {
	return fault{name: what + " host " + named(h), takes: of(h),
		strike: func(t *testing.T, w *world) { w.hosts[h].cut(t, directions...) },
		heal:   func(t *testing.T, w *world) { w.hosts[h].mend(t) }}
}

// both are two faults at once.
func both(a, b fault) fault {
	return fault{name: a.name + ", and " + b.name, takes: slices.Concat(a.takes, b.takes),
		strike: func(t *testing.T, w *world) { a.strike(t, w); b.strike(t, w) },
		heal:   func(t *testing.T, w *world) { a.heal(t, w); b.heal(t, w) }}
}
