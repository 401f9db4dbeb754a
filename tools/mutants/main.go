// Command mutants measures how well the tests of the pure packages check them. It changes the source in one place at
// a time, such as < to <=, and runs the package's own tests: a change that they notice is killed, one that they do not
// notice lives, and so does one that no test reaches.
//
// In: the packages below, gremlins (tools/mutants/gremlins), equivalent.yaml. Out: one line per package with the
// changes killed, the total and the percentage, and out/mutants with those that live. Next: whoever adds a test. The
// command fails where a package has less than 90 %.
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
)

// threshold is the least share of mutants to be killed, percent.
const threshold = 90

// target is a package and the tests, as a regular expression, that are too slow to run for each mutant.
type target struct{ folder, skip string }

var targets = []target{
	{folder: "services/alpha/detect"},
	{folder: "services/circuits/admit"},
	{folder: "services/circuits/calendar"},
	{folder: "services/paths/compute"},
	{folder: "services/paths/cspf"},
	{folder: "services/paths/disjoint"},
	{folder: "services/paths/graph"},
	{folder: "services/paths/kshortest"},
	{folder: "services/paths/segments"},
	{folder: "services/paths/spf"},
	// Thousands of packets and orders; the golden plans see the same mistakes.
	{folder: "services/policy/compile", skip: "^Test(TheOrderOfTheInput|ThePlanMeans)"},
	{folder: "services/push/diff"},
	// Networks simulated packet by packet: 80 s. The other tests take 1 s, the trace of every bit among them.
	{folder: "services/peagent/law", skip: "^Test(Random|OneBottleneck|SeveralBottlenecks|AFlood|PrototypeStarts|ALiveWeight|LostAnswers)"},
	{folder: "services/twin/discipline"},
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("mutants: ")
	only := flag.String("only", "", "run only packages whose folder contains this")
	workers := flag.Int("workers", runtime.NumCPU(), "mutants at a time")
	flag.Parse()
	if err := run(*only, *workers); err != nil {
		log.Fatal(err)
	}
}

func run(only string, workers int) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	entries, err := readEquivalents(filepath.Join(root, "tools/mutants/equivalent.yaml"))
	if err != nil {
		return err
	}
	tree, err := copyTree(root)
	if err != nil {
		return err
	}
	defer os.RemoveAll(tree)
	var errs []error
	for _, t := range targets {
		if strings.Contains(t.folder, only) {
			errs = append(errs, measure(root, tree, t, workers, entries))
		}
	}
	return errors.Join(errs...)
}

// measure prints the line of one package.
func measure(root, tree string, t target, workers int, entries []Equivalent) error {
	mutants, err := mutate(root, tree, t, workers)
	if err != nil {
		return err
	}
	s, err := count(mutants, entries, t.folder)
	if err != nil {
		return err
	}
	fmt.Printf("%s %d/%d %d%%\n", t.folder, s.Killed, s.Total, s.Percent())
	file, err := create(root, t, ".txt")
	if err != nil {
		return err
	}
	defer file.Close()
	for _, m := range s.Living {
		fmt.Fprintf(file, "%s:%d %s %s\n\t%s\n", m.File, m.Row, m.Mutator, m.Status, m.Line)
	}
	if s.Percent() < threshold {
		return fmt.Errorf("%s: less than %d %%; %s lists the mutants that live", t.folder, threshold, file.Name())
	}
	return nil
}

// create makes a file of out/mutants that belongs to a package.
func create(root string, t target, extension string) (*os.File, error) {
	folder := filepath.Join(root, "out/mutants")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	return os.Create(filepath.Join(folder, strings.ReplaceAll(t.folder, "/", "-")+extension))
}
