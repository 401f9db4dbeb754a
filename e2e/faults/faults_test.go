// Package faults breaks each thing that a change set stands on at each moment of its life, and holds what is left
// against what the record says.
//
// In: the millrace binary, Kafka's jars, a real etcd server; routers that speak gNMI and can be held at a moment
// (services/push/pushtest), behind links that can fail (e2e/plane).
// Out: one row for each fault and moment. `make faults` runs all and writes docs/reference/faults.md; `make test` runs
// those of the diagonal.
// Next: an operator who asks what happens if.
package faults

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/e2e/plane"
	"github.com/millrace/millrace/internal/testkit/faults"
	"github.com/millrace/millrace/internal/testkit/program"
)

var (
	all  = flag.Bool("all", false, "run every fault at every moment")
	page = flag.String("page", "", "write the table to this file")
)

func TestMain(m *testing.M) {
	flag.Parse()
	code, ran, err := faults.OwnNetwork()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if ran { // in a network where packets can be lost
		os.Exit(code)
	}
	if err := remember(*kept); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code = program.Main(m)
	if err := write(*page); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if *all {
		fmt.Printf("faults: %d of %d hold\n", count(rows), len(rows))
	}
	os.Exit(code)
}

// columns are the faults. The first are those of `make test`: each moment with one fault, each of these once, and
// besides them etcd's older data at the last moment, when most is forgotten.
var columns = append(slices.Clone(plane.ChangeSetFaults),
	plane.BusFault, emptyBus, plane.CertificateFault, plane.LossFault, plane.RepeatFault,
	plane.OlderDataFault, plane.FullStateFault, plane.SlowStateFault,
	plane.ClockFault("the clock steps 2 h forth, and back", 2*time.Hour), plane.ClockFault("the clock steps 2 h back, and forth", -2*time.Hour),
)

// TestChangeSets: after every fault the routers are in the old or the new state, the record says which, nothing waits
// for ever, and the next change set is verified.
func TestChangeSets(t *testing.T) {
	w := newWorld(t)
	for i, m := range moments {
		for j, f := range columns {
			if !*all && j != i%len(plane.ChangeSetFaults) && !(f.Forgets && i == len(moments)-1) {
				continue
			}
			w.test(t, m, f)
		}
	}
	for _, o := range outages() {
		for _, m := range moments {
			for i, f := range o.faults {
				if m.name == o.moment && (*all || i == 0) {
					w.test(t, m, f)
				}
			}
		}
	}
}

// test is one fault at one moment.
func (w *world) test(t *testing.T, m moment, f plane.Fault) {
	t.Run(f.Name+", "+m.name, func(t *testing.T) {
		r := record(t, m.name, f.Name)
		cs := w.strike(t, m, f)
		if r.End = "forgotten"; cs != nil {
			r.End = plane.Word(cs.GetState())
			w.Judge(t, cs)
		} else {
			w.judgeForgotten(t)
		}
		w.goesOn(t)
	})
}
