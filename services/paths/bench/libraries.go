package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/millrace/millrace/services/paths/graph"
)

// Programs that solve the same tasks with libraries of Python, and with JGraphT.
var (
	//go:embed libraries.py
	script string
	//go:embed JGraphT.java
	javaSource string
)

// libraries says what stands beside; an empty field is not measured.
type libraries struct {
	// python is an interpreter that has networkx, igraph and networkit.
	python string
	// jgrapht is a folder with the jars of JGraphT.
	jgrapht string
}

// task is what the Python script reads.
type task struct {
	Nodes int        `json:"nodes"`
	Links [][3]int64 `json:"links"` // from, to, metric
	Pairs [][2]int32 `json:"pairs"`
	K     int        `json:"k"`
}

// answer is a line of what a program prints.
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

// pythons is one run of the script.
func pythons(s *samples, g *graph.Graph, k int, python string) error {
	t := task{Nodes: g.Nodes(), Pairs: sample(g, sampleSize), K: k}
	for l := range int32(g.Links()) {
		t.Links = append(t.Links, [3]int64{int64(g.From(l)), int64(g.To(l)), int64(g.Weights(graph.IGP)[l])})
	}
	in, err := json.Marshal(t)
	if err != nil {
		return err
	}
	err = inFolder(map[string]string{"task.json": string(in)}, func(folder string) error {
		return theirs(s, exec.Command(python, "-c", script, filepath.Join(folder, "task.json"), fmt.Sprint(few)))
	})
	if err != nil {
		return err
	}
	return mine(s, g, k, t.Pairs[:few])
}

// javas is one run of the Java program, from its source: that needs a JDK. Its task is numbers, as a JDK reads no JSON
// by itself.
func javas(s *samples, g *graph.Graph, k int, jars string) error {
	var in strings.Builder
	fmt.Fprintln(&in, g.Nodes(), k, g.Links())
	for l := range int32(g.Links()) {
		fmt.Fprintln(&in, g.From(l), g.To(l), g.Weights(graph.IGP)[l])
	}
	pairs := sample(g, sampleSize)
	fmt.Fprintln(&in, len(pairs))
	for _, p := range pairs {
		fmt.Fprintln(&in, p[0], p[1])
	}
	return inFolder(map[string]string{"task": in.String(), "JGraphT.java": javaSource}, func(folder string) error {
		return theirs(s, exec.Command("java", "-cp", filepath.Join(jars, "*"), filepath.Join(folder, "JGraphT.java"), filepath.Join(folder, "task")))
	})
}

// inFolder does something in a folder of its own with these files.
func inFolder(files map[string]string, do func(folder string) error) error {
	folder, err := os.MkdirTemp("", "paths-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return do(folder)
}

// theirs runs a program and keeps what it measured.
func theirs(s *samples, cmd *exec.Cmd) error {
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", cmd.Path, err)
	}
	var answers []answer
	if err := json.Unmarshal(out, &answers); err != nil {
		return fmt.Errorf("%s: %w", cmd.Path, err)
	}
	for _, a := range answers {
		s.add(a.Task, a.Program, a.Threads, a.Count, a.CostSum, took{wall: seconds(a.Seconds), cpu: seconds(a.CPU)})
	}
	return nil
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
