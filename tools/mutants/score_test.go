package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/testkit/checkout"
)

func mutants() []Mutant {
	return []Mutant{
		{"a/p/x.go", "CONDITIONALS_BOUNDARY", killed, 3, "if a «<=» b && c < 0 {"},
		{"a/p/x.go", "CONDITIONALS_NEGATION", killed, 3, "if a «<=» b && c < 0 {"},
		{"a/p/x.go", "INVERT_LOGICAL", lived, 3, "if a <= b «&&» c < 0 {"},
		{"a/p/x.go", "CONDITIONALS_BOUNDARY", notViable, 3, "if a <= b && c «<» 0 {"},
		{"a/p/x.go", "INVERT_LOOPCTRL", lived, 4, "«continue»"},
	}
}

func TestScore(t *testing.T) {
	living := Equivalent{"a/p/x.go", "if a <= b «&&» c < 0 {", "INVERT_LOGICAL", "c is never negative"}
	second := Equivalent{"a/p/x.go", "«continue»", "INVERT_LOOPCTRL", "it is the last case"}
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
		{"what does not compile is no mutant", nil, 2, 4, 50, ""},
		{"an equivalent mutant is not counted", []Equivalent{living}, 2, 3, 66, ""},
		{"all that live are equivalent", []Equivalent{living, second}, 2, 2, 100, ""},
		{"entries of other packages wait for theirs", []Equivalent{elsewhere}, 2, 4, 50, ""},
		{"a killed mutant is not equivalent", []Equivalent{killed}, 2, 4, 50, "no such mutant lives"},
		{"an entry without a reason", []Equivalent{unargued}, 2, 3, 66, "no reason is given"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := count(mutants(), c.entries, "a/p")
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
	if _, err := count([]Mutant{{Status: ""}}, nil, "a/p"); err == nil {
		t.Error("a mutant that was not tested was counted")
	}
}

// TestTheEquivalentMutantsAreOfTheSource: a line that has changed is found here, and not after an hour of mutants.
func TestTheEquivalentMutantsAreOfTheSource(t *testing.T) {
	entries, err := readEquivalents("equivalent.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.Contains(e.Line, "«") || e.Reason == "" {
			t.Errorf("%+v has no marked operator or no reason", e)
		}
		source, err := os.ReadFile(filepath.Join(checkout.Root(t), e.File))
		if err != nil {
			t.Error(err)
			continue
		}
		if line := strings.NewReplacer("«", "", "»", "").Replace(e.Line); !strings.Contains(string(source), "\t"+line+"\n") && !strings.Contains(string(source), "\n"+line+"\n") {
			t.Errorf("%s has no line %s", e.File, line)
		}
	}
}

// The page's total is the sum of its rows: a package that is measured again changes both.
func TestThePagesTotalIsTheSumOfItsRows(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(checkout.Root(t), "docs/reference/mutants.md"))
	if err != nil {
		t.Fatal(err)
	}
	var killed, of int
	for _, row := range regexp.MustCompile("(?m)^\\| `[^`]+` \\| (\\d+) \\| (\\d+) \\|").FindAllStringSubmatch(string(raw), -1) {
		k, _ := strconv.Atoi(row[1])
		n, _ := strconv.Atoi(row[2])
		killed, of = killed+k, of+n
	}
	if want := fmt.Sprintf("In all %d of %d.", killed, of); killed == 0 || !strings.Contains(string(raw), want) {
		t.Errorf("docs/reference/mutants.md does not say %q, which is the sum of its rows", want)
	}
}
