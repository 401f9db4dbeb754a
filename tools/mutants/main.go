// Command mutants measures how well the tests of the pure packages check them. It changes the source in one place at
// a time, such as < to <=, and runs the package's own tests: a change that they notice is killed, one that they do not
// notice lives, and so does one that no test reaches.
//
// In: the packages below and equivalent.yaml. Out: one line per package with the changes killed, the total and the
// percentage, and out/mutants with those that live. Next: the author of a test. The command fails where a package has
// less than 90 %.
//
// The mutants are those of gremlins (github.com/go-gremlins/gremlins). That program builds a test binary
// for each; here one binary has all mutants of a package, and an environment variable selects one.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// threshold is the least share of mutants to be killed, percent.
const threshold = 90

// target is a package and the tests, as a regular expression, that are too slow to run for each mutant.
type target struct{ folder, skip string }

// searches visit half a million states. TestFewFaults visits those with fewer faults.
const searches = "^Test(Exhaustive|TheSearchMisses)"

var targets = []target{
	{folder: "collectors/flow/worker"},
	{folder: "internal/configentry"},
	{folder: "internal/portcounters"},
	{folder: "internal/rights"},
	{folder: "internal/scitags"},
	{folder: "internal/shares"},
	// Days of simulated loads, tens of seeds each: the tables hold the same rules.
	{folder: "internal/split", skip: "^Test(NoiseMoves|ADayIsForeseen|MovesAreRare|BetaIsNeverWorse|AlphaPays|UnderAStrict)"},
	{folder: "internal/topo"},
	{folder: "internal/units"},
	{folder: "internal/vpnshare"},
	{folder: "services/alpha/circuit"},
	{folder: "services/alpha/detect"},
	{folder: "services/alpha/gate"},
	{folder: "services/alpha/online"},
	{folder: "services/alpha/replay"},
	{folder: "services/alpha/report"},
	{folder: "services/audit/chain"},
	{folder: "services/circuits/admit"},
	{folder: "services/circuits/calendar"},
	{folder: "services/circuits/life", skip: searches},
	{folder: "services/circuits/maintain"},
	{folder: "services/circuits/ports"},
	{folder: "services/circuits/propose"},
	{folder: "services/circuits/provision"},
	{folder: "services/circuits/reoptimise"},
	{folder: "services/circuits/repeat"},
	{folder: "services/circuits/restore"},
	{folder: "services/circuits/traffic"},
	{folder: "services/nsi/soap"},
	{folder: "services/nsi/states"},
	{folder: "services/paths/compute"},
	{folder: "services/paths/cspf"},
	{folder: "services/paths/disjoint"},
	{folder: "services/paths/graph"},
	{folder: "services/paths/kshortest"},
	{folder: "services/paths/lspset"},
	{folder: "services/paths/segments"},
	{folder: "services/paths/spf"},
	// Networks simulated packet by packet: 80 s. The other tests take 1 s, the trace of every bit among them.
	{folder: "services/peagent/law", skip: "^Test(Random|OneBottleneck|SeveralBottlenecks|AFlood|PrototypeStarts|ALiveWeight|LostAnswers)"},
	// Thousands of packets and orders; the golden plans see the same mistakes.
	{folder: "services/policy/compile", skip: "^Test(TheOrderOfTheInput|ThePlanMeans)"},
	{folder: "services/policy/document"},
	{folder: "services/push/diff"},
	{folder: "services/push/drift"},
	{folder: "services/push/guard"},
	{folder: "services/push/rollout", skip: searches},
	{folder: "services/split/follow"},
	{folder: "services/twin/discipline"},
	{folder: "services/twin/traffic"},
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("mutants: ")
	only := flag.String("only", "", "run only packages whose folder contains this")
	workers := flag.Int("workers", runtime.NumCPU(), "mutants at a time")
	verbose := flag.Bool("v", false, "say what becomes of each mutant")
	flag.Parse()
	if err := run(*only, *workers, *verbose); err != nil {
		log.Fatal(err)
	}
}

func run(only string, workers int, verbose bool) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	entries, err := readEquivalents(filepath.Join(root, "tools/mutants/equivalent.yaml"))
	if err != nil {
		return err
	}
	seen := func(m Mutant) {
		if verbose {
			log.Print(m)
		}
	}
	var errs []error
	for _, t := range targets {
		if strings.Contains(t.folder, only) {
			errs = append(errs, measure(root, t, workers, seen, entries))
		}
	}
	return errors.Join(errs...)
}

// measure prints the row of one package.
func measure(root string, t target, workers int, seen func(Mutant), entries []Equivalent) error {
	begin := time.Now()
	mutants, err := try(root, t, workers, seen)
	if err != nil {
		return err
	}
	s, stale := count(mutants, entries, t.folder)
	fmt.Printf("%s %d/%d %d%%\n", t.folder, s.Killed, s.Total, s.Percent())
	log.Printf("%s took %v", t.folder, time.Since(begin).Round(time.Second))
	folder := filepath.Join(root, "out/mutants")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	var living strings.Builder
	for _, m := range s.Living {
		fmt.Fprintln(&living, m)
	}
	file := filepath.Join(folder, strings.ReplaceAll(t.folder, "/", "-")+".txt")
	if err := os.WriteFile(file, []byte(living.String()), 0o644); err != nil {
		return err
	}
	if stale != nil {
		return stale
	}
	if s.Percent() < threshold {
		return fmt.Errorf("%s: less than %d %%; %s lists the mutants that live", t.folder, threshold, file)
	}
	return nil
}
