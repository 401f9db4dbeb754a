// Command bench measures the path engine on a network that anyone can bring, beside other libraries if asked to.
//
// In: a REPETITA .graph file; with --libraries a Python that has networkx, igraph and networkit, with --jgrapht the
// jars of JGraphT. Out: one row per task and program with the median and range of interleaved runs, and the sum of all
// costs found: where two programs solve the same task and the sums differ, it fails. Next:
// docs/reference/performance.md.
//
// CSPF is also measured on a generated network of 1,000 routers and 6,000 links, whatever the file.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"runtime"

	"github.com/millrace/millrace/services/paths/graph"
)

// Row is one program at one task.
type Row struct {
	Task    string `json:"task"`
	Program string `json:"program"`
	Threads int    `json:"threads"`
	// Microseconds per pair of routers; for all-pairs SPF, of the whole.
	Median float64 `json:"median_us"`
	Least  float64 `json:"least_us"`
	Most   float64 `json:"most_us"`
	// CPU is the median of processor time, over all threads.
	CPU float64 `json:"cpu_us"`
	// Count is how many were done in a run; CostSum adds up their costs.
	Count   int   `json:"count"`
	CostSum int64 `json:"cost_sum"`
}

// Report is all that a run prints.
type Report struct {
	Graph string `json:"graph"`
	Nodes int    `json:"nodes"`
	Links int    `json:"links"`
	Cores int    `json:"cores"`
	K     int    `json:"k"`
	Runs  int    `json:"runs"`
	Rows  []Row  `json:"rows"`
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("bench: ")
	file := flag.String("graph", "", "REPETITA .graph file")
	asJSON := flag.Bool("json", false, "print JSON")
	runs := flag.Int("runs", 5, "runs of each, interleaved")
	k := flag.Int("k", 4, "paths per pair of routers")
	var beside libraries
	flag.StringVar(&beside.python, "libraries", "", "Python interpreter with networkx, igraph and networkit: measure these too")
	flag.StringVar(&beside.jgrapht, "jgrapht", "", "folder with the jars of JGraphT: measure it too; needs a JDK")
	flag.Parse()
	r, err := run(*file, *runs, *k, beside)
	if err != nil {
		log.Fatal(err)
	}
	if err := show(r, *asJSON); err != nil {
		log.Fatal(err)
	}
}

func run(file string, runs, k int, beside libraries) (*Report, error) {
	if file == "" || runs < 1 || k < 1 {
		return nil, fmt.Errorf("--graph FILE is needed, and at least one of --runs and --k")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	g, err := graph.ParseRepetita(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if g.Nodes() < 2 {
		return nil, fmt.Errorf("%s has fewer than two routers", file)
	}
	r := &Report{Graph: file, Nodes: g.Nodes(), Links: g.Links(), Cores: runtime.NumCPU(), K: k, Runs: runs}
	samples := newSamples()
	for range runs {
		if err := ours(samples, g, k); err != nil {
			return nil, err
		}
		if beside.python != "" {
			if err := pythons(samples, g, k, beside.python); err != nil {
				return nil, err
			}
		}
		if beside.jgrapht != "" {
			if err := javas(samples, g, k, beside.jgrapht); err != nil {
				return nil, err
			}
		}
	}
	if r.Rows, err = samples.rows(); err != nil {
		return nil, err
	}
	return r, nil
}

func show(r *Report, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	fmt.Printf("%s: %d routers, %d links; %d cores, %d runs, k = %d\n\n", r.Graph, r.Nodes, r.Links, r.Cores, r.Runs, r.K)
	fmt.Println("| task | program | threads | median µs | range | CPU µs | count | sum of costs |\n|---|---|---:|---:|---:|---:|---:|---:|")
	for _, w := range r.Rows {
		fmt.Printf("| %s | %s | %d | %.1f | %.1f–%.1f | %.1f | %d | %d |\n", w.Task, w.Program, w.Threads, w.Median, w.Least, w.Most, w.CPU, w.Count, w.CostSum)
	}
	return nil
}
