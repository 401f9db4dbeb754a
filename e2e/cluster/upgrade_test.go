package cluster

import (
	"syscall"
	"testing"

	"github.com/millrace/millrace/internal/testkit/program"
)

// upgrades are the cases of two releases side by side: host after host is upgraded, goes back, and is upgraded again.
// Each time one work goes on meanwhile, and another one begins and ends with the releases as they are then.
func upgrades() (all []testcase) {
	for i, host := range []struct {
		number      int
		how, binary string
	}{
		{0, "is upgraded", program.Path}, {1, "is upgraded", program.Path}, {2, "is upgraded", program.Path},
		{0, "goes back", *before}, {1, "goes back", *before}, {2, "goes back", *before},
		{1, "is upgraded again", program.Path}, {0, "is upgraded again", program.Path},
	} {
		name := "host " + named(host.number) + " " + host.how
		all = append(all,
			testcase{takesPart[i%len(takesPart)].work, restarted(name, host.number, host.binary)},
			testcase{takesPart[(i+2)%len(takesPart)].work, fault{name: name + ", before it", strike: nothing, heal: nothing}},
		)
	}
	return all
}

func nothing(*testing.T, *world) {}

// restarted is a host whose services end in good order, one after the other, and begin again as another release.
func restarted(name string, h int, binary string) fault {
	return fault{name: name, heal: nothing, strike: func(t *testing.T, w *world) {
		w.release[named(h)] = binary
		for _, service := range services(named(h)) {
			w.running[named(h)+"-"+service].Signal(t, syscall.SIGTERM)
			w.launch(t, w.hosts[h], service)
			w.ready(t, w.hosts[h], service)
		}
	}}
}
