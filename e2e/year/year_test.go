// Package year runs a control plane through a year of days: what etcd, memory and disk look like after it.
//
// In: the millrace binary, Kafka's jars, libchdb.so; how many days, and the seed of their flows. Out: a verdict, and
// figures of the run: `make year` writes docs/reference/year.md; `make test` runs some days.
// Next: an operator who decides how much disk and memory a host needs.
package year

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/millrace/millrace/internal/testkit/program"
)

var (
	days = flag.Int("days", 3, "how many")
	seed = flag.Uint64("seed", 1, "of the flows")
	page = flag.String("page", "", "write the figures to this file")
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(program.Main(m))
}

// TestYear: every nightly run is done, what is in force is the truth, each record is true, and nothing grows without
// bound.
func TestYear(t *testing.T) {
	w := newWorld(t, *days, *seed)
	for n := range *days {
		w.nightlyRun(t, n)
		w.measure(t, n+1)
		if (n+1)%restartEvery == 0 && n+1 < *days {
			w.restart(t, n+1)
		}
	}
	w.finish(t)
	hold, all := 0, w.verdicts()
	for _, v := range all {
		if v.holds {
			hold++
			continue
		}
		t.Errorf("%s: %s", v.claim, v.found)
	}
	for _, wrong := range w.wrong[:min(len(w.wrong), 30)] {
		t.Error(wrong)
	}
	fmt.Printf("year: %d of %d hold\n", hold, len(all))
	if *page == "" {
		return
	}
	if err := os.WriteFile(*page, []byte(w.report(all)), 0o644); err != nil {
		t.Fatal(err)
	}
}
