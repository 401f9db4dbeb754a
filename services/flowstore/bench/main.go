// Command bench measures the flow store: what it takes to store a day of flows, how large the day is then, and how long
// the questions of the nightly run take, beside plain ClickHouse, DuckDB and nfdump on the same records.
//
// In: how many records. Out: a Markdown table, or JSON. Next: docs/reference/performance.md, section "Flow store".
//
// The records come over the bus as collectors send them, and the questions go through the store's API. The peers'
// tables are filled from the stored records, with the columns that the questions need and nothing else.
//
//	go run ./services/flowstore/bench --records 30000000 --json [--chdb] [--duckdb PYTHON] [--nfdump PROGRAM]
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
)

type options struct {
	records int
	zipf    bool
	batch   int
	runs    int
	dir     string
	keep    bool
	chdb    bool
	duckdb  string
	nfdump  string
	profile string
	json    bool
}

func main() {
	o := options{}
	flag.IntVar(&o.records, "records", 3_000_000, "records of the day")
	flag.BoolVar(&o.zipf, "zipf", false, "few hosts send most flows; otherwise all pairs are alike")
	flag.IntVar(&o.batch, "batch", 32768, "records per message: flow.batch_records")
	flag.IntVar(&o.runs, "runs", 3, "how often each question is put")
	flag.StringVar(&o.dir, "dir", "", "folder for the data; empty is a temporary one")
	flag.BoolVar(&o.keep, "keep", false, "keep the data, and use it where it is there")
	flag.BoolVar(&o.chdb, "chdb", false, "also ask a plain table of the same engine")
	flag.StringVar(&o.duckdb, "duckdb", "", "Python that has the package duckdb, to ask it too")
	flag.StringVar(&o.nfdump, "nfdump", "", "nfdump, to ask it too, over a file of the same records")
	flag.StringVar(&o.profile, "profile", "", "write a CPU profile of the storing (Go's part of it) to this file")
	flag.BoolVar(&o.json, "json", false, "print one JSON object instead of tables")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// report is what --json prints.
type report struct {
	Records int     `json:"records"`
	Zipf    bool    `json:"zipf"`
	Stored  *stored `json:"stored,omitempty"`
	// OctetsPerFlow is what the store's table takes on disk, indices among it, once nothing is left to merge.
	OctetsPerFlow float64  `json:"octets_per_flow"`
	Answers       []answer `json:"answers"`
}

// stored is what storing the day took: CPU seconds of the process without those that made the records up.
type stored struct {
	Seconds       float64 `json:"seconds"`
	CPU           float64 `json:"cpu_seconds"`
	CPUPerMillion float64 `json:"cpu_seconds_per_million"`
	// Merged is how many rows the engine merged for each that was inserted.
	Merged float64 `json:"merged_per_row"`
}

// answer is one question to one program.
type answer struct {
	Question string `json:"question"`
	Program  string `json:"program"`
	// Rows and Bytes are of the answer: equal for all programs.
	Rows  int    `json:"rows"`
	Bytes uint64 `json:"bytes"`
	// Seconds and CPU are of each run.
	Seconds []float64 `json:"seconds"`
	CPU     []float64 `json:"cpu_seconds"`
}

func run(ctx context.Context, o options) (err error) {
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "millrace-bench-"); err != nil {
			return err
		}
	}
	if !o.keep {
		defer os.RemoveAll(o.dir)
	}
	r := report{Records: o.records, Zipf: o.zipf}
	data := filepath.Join(o.dir, "clickhouse")
	if _, err := os.Stat(data); errors.Is(err, os.ErrNotExist) {
		if r.Stored, err = fill(ctx, o, data); err != nil {
			return err
		}
	}
	parquet := filepath.Join(o.dir, "day.parquet")
	if err := peers(ctx, o, data, parquet, &r); err != nil {
		return err
	}
	ours, err := askStore(ctx, o, data)
	if err != nil {
		return err
	}
	r.Answers = append(ours, r.Answers...)
	if o.duckdb != "" {
		theirs, err := askDuckDB(ctx, o, parquet)
		if err != nil {
			return err
		}
		r.Answers = append(r.Answers, theirs...)
	}
	if o.nfdump != "" {
		theirs, err := askNfdump(ctx, o)
		if err != nil {
			return err
		}
		r.Answers = append(r.Answers, theirs...)
	}
	if err := r.print(o); err != nil {
		return err
	}
	return agree(r.Answers)
}

// agree reports answers that differ.
func agree(all []answer) error {
	first := map[string]answer{}
	for _, a := range all {
		f, known := first[a.Question]
		if !known {
			first[a.Question] = a
			continue
		}
		if f.Rows != a.Rows || f.Bytes != a.Bytes {
			return fmt.Errorf("%s: %s found %d rows of %d bytes, %s %d of %d", a.Question, f.Program, f.Rows, f.Bytes, a.Program, a.Rows, a.Bytes)
		}
	}
	return nil
}

func (r *report) print(o options) error {
	if o.json {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	if s := r.Stored; s != nil {
		fmt.Printf("%d records stored in %.1f s, %.1f CPU s: %.3f per million; %.1f rows merged per row.\n", r.Records, s.Seconds, s.CPU, s.CPUPerMillion, s.Merged)
	}
	fmt.Printf("%.1f octets per flow.\n\n| question | program | rows | seconds | CPU seconds |\n|---|---|---:|---|---|\n", r.OctetsPerFlow)
	for _, a := range r.Answers {
		fmt.Printf("| %s | %s | %d | %.3f | %.3f |\n", a.Question, a.Program, a.Rows, a.Seconds, a.CPU)
	}
	return nil
}

// profiled runs f under Go's profiler, if that was asked for.
func profiled(file string, f func() error) error {
	if file == "" {
		return f()
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer out.Close()
	if err := pprof.StartCPUProfile(out); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	return f()
}
