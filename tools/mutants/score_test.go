package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const source = "package p\n\n\tif a <= b && c < 0 {\n\t\tcontinue\n"

const report = `{"go_module": "m", "files": [{"file_name": "x.go", "mutations": [
	{"type": "CONDITIONALS_BOUNDARY", "status": "KILLED", "line": 3, "column": 7},
	{"type": "CONDITIONALS_NEGATION", "status": "TIMED OUT", "line": 3, "column": 7},
	{"type": "INVERT_LOGICAL", "status": "LIVED", "line": 3, "column": 12},
	{"type": "CONDITIONALS_BOUNDARY", "status": "NOT VIABLE", "line": 3, "column": 17},
	{"type": "INVERT_LOOPCTRL", "status": "NOT COVERED", "line": 4, "column": 3}]}]}`

func read(string) ([]byte, error) { return []byte(source), nil }

func TestTheReportNamesOperatorsByTheirLine(t *testing.T) {
	got, err := parse([]byte(report), "a/p", read)
	if err != nil {
		t.Fatal(err)
	}
	want := []Mutant{
		{"a/p/x.go", "CONDITIONALS_BOUNDARY", "KILLED", 3, "if a «<=» b && c < 0 {"},
		{"a/p/x.go", "CONDITIONALS_NEGATION", "TIMED OUT", 3, "if a «<=» b && c < 0 {"},
		{"a/p/x.go", "INVERT_LOGICAL", "LIVED", 3, "if a <= b «&&» c < 0 {"},
		{"a/p/x.go", "CONDITIONALS_BOUNDARY", "NOT VIABLE", 3, "if a <= b && c «<» 0 {"},
		{"a/p/x.go", "INVERT_LOOPCTRL", "NOT COVERED", 4, "«continue»"},
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

func TestAReportOfOtherSourceIsRefused(t *testing.T) {
	for _, at := range []string{`"line": 9, "column": 1`, `"line": 0, "column": 1`, `"line": 3, "column": 99`, `"line": 3, "column": 0`} {
		if _, err := parse([]byte(`{"files": [{"file_name": "x.go", "mutations": [{`+at+`}]}]}`), "a/p", read); err == nil {
			t.Errorf("%s was accepted", at)
		}
	}
}

func TestScore(t *testing.T) {
	living := Equivalent{"a/p/x.go", "if a <= b «&&» c < 0 {", "INVERT_LOGICAL", "c is never negative"}
	uncovered := Equivalent{"a/p/x.go", "«continue»", "INVERT_LOOPCTRL", "it is the last case"}
	killed := Equivalent{"a/p/x.go", "if a «<=» b && c < 0 {", "CONDITIONALS_BOUNDARY", "wrong"}
	elsewhere := Equivalent{"a/pq/y.go", "x «+» y", "ARITHMETIC_BASE", "another package"}
	unargued := living
	unargued.Reason = ""
	for _, c := range []struct {
		name          string
		entries       []Equivalent
		killed, total int
		percent       int
		err           string
	}{
		{"a time-out is killed, what no test reaches lives, what does not compile is no mutant", nil, 2, 4, 50, ""},
		{"an equivalent mutant is not counted", []Equivalent{living}, 2, 3, 66, ""},
		{"all that live are equivalent", []Equivalent{living, uncovered}, 2, 2, 100, ""},
		{"entries of other packages wait for theirs", []Equivalent{elsewhere}, 2, 4, 50, ""},
		{"a killed mutant is not equivalent", []Equivalent{killed}, 0, 0, 0, "no such mutant lives"},
		{"an entry without a reason", []Equivalent{unargued}, 0, 0, 0, "no reason is given"},
	} {
		t.Run(c.name, func(t *testing.T) {
			mutants, err := parse([]byte(report), "a/p", read)
			if err != nil {
				t.Fatal(err)
			}
			s, err := count(mutants, c.entries, "a/p")
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Fatalf("error %v, want %q", err, c.err)
			}
			if s.Killed != c.killed || s.Total != c.total || s.Percent() != c.percent || s.Total-s.Killed != len(s.Living) {
				t.Errorf("%d/%d %d %%, %d living; want %d/%d %d %%", s.Killed, s.Total, s.Percent(), len(s.Living), c.killed, c.total, c.percent)
			}
		})
	}
}

func TestAStatusNobodyKnowsIsRefused(t *testing.T) {
	if _, err := count([]Mutant{{Status: "RUNNABLE"}}, nil, "a/p"); err == nil {
		t.Error("a mutant that was not tested was counted")
	}
}

func TestTheEquivalentMutantsCanBeRead(t *testing.T) {
	entries, err := readEquivalents("equivalent.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.Contains(e.Line, "«") || e.Reason == "" {
			t.Errorf("%+v has no marked operator or no reason", e)
		}
	}
}
