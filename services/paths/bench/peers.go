package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/millrace/millrace/services/paths/graph"
)

// script solves the same tasks with libraries of Python.
//
//go:embed peers.py
var script string

// task is what the script reads.
type task struct {
	Nodes int        `json:"nodes"`
	Links [][3]int64 `json:"links"` // from, to, metric
	Pairs [][2]int32 `json:"pairs"`
	K     int        `json:"k"`
}

// answer is a line of what it prints.
type answer struct {
	Task    string  `json:"task"`
	Program string  `json:"program"`
	Threads int     `json:"threads"`
	Count   int     `json:"count"`
	CostSum int64   `json:"cost_sum"`
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu_seconds"`
}

// few is what the slow ones do of the sample; their own tasks are measured by us on as many, so that sums compare.
const few = 20

// theirs is one run of the script.
func theirs(s *samples, g *graph.Graph, k int, python string) error {
	t := task{Nodes: g.Nodes(), Pairs: sample(g, sampleSize), K: k}
	for l := range int32(g.Links()) {
		t.Links = append(t.Links, [3]int64{int64(g.From(l)), int64(g.To(l)), int64(g.Weights(graph.IGP)[l])})
	}
	in, err := os.CreateTemp("", "paths-bench-*.json")
	if err != nil {
		return err
	}
	defer os.Remove(in.Name())
	if err := json.NewEncoder(in).Encode(t); err != nil {
		return err
	}
	if err := in.Close(); err != nil {
		return err
	}
	cmd := exec.Command(python, "-c", script, in.Name(), fmt.Sprint(few))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("peers: %w", err)
	}
	var answers []answer
	if err := json.Unmarshal(out, &answers); err != nil {
		return fmt.Errorf("peers: %w", err)
	}
	for _, a := range answers {
		s.add(a.Task, a.Program, a.Threads, a.Count, a.CostSum, took{wall: seconds(a.Seconds), cpu: seconds(a.CPU)})
	}
	return mine(s, g, k, t.Pairs[:few])
}

// mine solves the shortened samples.
func mine(s *samples, g *graph.Graph, k int, pairs [][2]int32) error {
	done := watch()
	sum := listSome(g, k, pairs)
	s.add(kSample+" of 20", me, 1, len(pairs), sum, done())
	done = watch()
	sum, count, err := findPairs(g, 0, pairs)
	s.add(linkPair+", sample of 20", me, 1, count, sum, done())
	return err
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
