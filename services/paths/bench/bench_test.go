package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const ring = `NODES 4
label x y
a 0 0
b 0 1
c 1 1
d 1 0

EDGES 8
label src dest weight bw delay
ab 0 1 1 1000 5
ba 1 0 1 1000 5
bc 1 2 1 1000 5
cb 2 1 1 1000 5
cd 2 3 1 1000 5
dc 3 2 1 1000 5
da 3 0 1 1000 5
ad 0 3 1 1000 5
`

func TestEveryTaskHasARow(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ring.graph")
	if err := os.WriteFile(file, []byte(ring), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := run(file, 2, 3, libraries{})
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]int64{}
	for _, row := range r.Rows {
		if row.Program != me || row.Count == 0 || row.Least > row.Median || row.Median > row.Most {
			t.Errorf("row %+v", row)
		}
		sums[row.Task] = row.CostSum
	}
	// Each router has two neighbours at 1 and one at 2: 16 in all. Two paths per pair, 4 links together: 48.
	for task, want := range map[string]int64{allPairs: 16, kAllPairs: 48, linkPair: 4 * sampleSize, nodePair: 4 * sampleSize} {
		if sums[task] != want {
			t.Errorf("%s: the costs add up to %d, want %d", task, sums[task], want)
		}
	}
	for _, task := range []string{kSample, cspfFile, cspfMesh, cspfDelay} {
		if sums[task] == 0 {
			t.Errorf("%s has no row, or no cost", task)
		}
	}
}

func TestProgramsThatDisagreeFail(t *testing.T) {
	s := newSamples()
	s.add(allPairs, me, 1, 1, 16, took{wall: 3000})
	s.add(allPairs, "another", 1, 1, 17, took{wall: 1000})
	if _, err := s.rows(); err == nil || !strings.Contains(err.Error(), "all-pairs SPF: the costs of") {
		t.Errorf("error %v, want one about the sums", err)
	}
	s = newSamples()
	s.add(allPairs, me, 1, 1, 16, took{wall: 3000})
	s.add(allPairs, me, 1, 1, 17, took{wall: 1000})
	if _, err := s.rows(); err == nil || !strings.Contains(err.Error(), "in another run") {
		t.Errorf("error %v, want one about two runs", err)
	}
}

func TestWhatCannotBeMeasuredIsRefused(t *testing.T) {
	one := filepath.Join(t.TempDir(), "one.graph")
	if err := os.WriteFile(one, []byte("NODES 1\nx\na 0 0\nEDGES 0\nx\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"no file":    second(run("", 1, 1, libraries{})),
		"not there":  second(run(one+"x", 1, 1, libraries{})),
		"no runs":    second(run(one, 0, 1, libraries{})),
		"one router": second(run(one, 1, 1, libraries{})),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func second(_ *Report, err error) error { return err }
