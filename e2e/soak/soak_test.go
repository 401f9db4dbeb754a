// Package soak lets a control plane work for a set time while parts fail one after another, and then checks data and
// routers.
//
// In: the millrace binary, Kafka's jars, libchdb.so; a duration, and a seed that determines which part fails in which
// order. Out: a verdict, and figures of the run: `make soak` writes docs/reference/soak.md; `make test` runs three
// faults.
// Next: an operator who decides whether it can run unattended.
package soak

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/program"
)

var (
	length = flag.Duration("for", 0, "how long things break one after another; 0: three times")
	seed   = flag.Uint64("seed", 11, "what breaks in which order")
	page   = flag.String("page", "", "write the figures to this file")
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(program.Main(m))
}

// pace is how often things are done, and how long services/push waits for them.
type pace struct {
	nightlyRun, traffic, importing, weights, sample time.Duration
	// push are settings of services/push.
	push string
}

// paceOf a run: nightly runs every minute, or as fast as they come. Batches of one exporter come no faster than from a
// collector: the store takes them one after the other.
func paceOf(length time.Duration) pace {
	if length == 0 {
		return pace{nightlyRun: time.Second, traffic: time.Second, importing: 2 * time.Second, weights: 2 * time.Second, sample: time.Second, push: patient}
	}
	return pace{nightlyRun: time.Minute, traffic: time.Second, importing: 10 * time.Second, weights: 20 * time.Second, sample: 10 * time.Second, push: impatient}
}

// TestSoak: whatever breaks, no committed fact is lost or doubled, each record is true, everything goes on by
// itself, and nothing grows.
func TestSoak(t *testing.T) {
	w := newWorld(t, paceOf(*length))
	work := w.work(t)
	w.breakThings(t, *length, *seed)
	work.stop()
	w.judge(t)
	if *page != "" {
		if err := os.WriteFile(*page, []byte(w.report(*length, *seed)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
