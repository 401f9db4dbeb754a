package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Mutant is one change of the source and what became of it.
type Mutant struct {
	File, Mutator, Status string
	Row                   int
	// Line is the source line with the changed operator marked: if a «<» b {
	Line string
}

func (m Mutant) String() string {
	return fmt.Sprintf("%s %s:%d %s\n\t%s", m.Status, m.File, m.Row, m.Mutator, m.Line)
}

// What becomes of a mutant.
const (
	killed    = "KILLED"
	lived     = "LIVED"
	notViable = "NOT VIABLE" // it does not compile
)

// Score of a package. Equivalent mutants are in none of its numbers.
type Score struct {
	Killed, Total int
	Living        []Mutant
}

// Percent is rounded down, so that 90 is never less than 90 %.
func (s Score) Percent() int {
	if s.Total == 0 {
		return 0
	}
	return 100 * s.Killed / s.Total
}

// count makes the score of the package in a folder. An entry of the package that fits no living mutant is refused: its
// line has changed, or a test kills the mutant. The score holds all the same.
func count(mutants []Mutant, entries []Equivalent, folder string) (Score, error) {
	var s Score
	used := make([]bool, len(entries))
	for _, m := range mutants {
		switch m.Status {
		case killed:
			s.Killed, s.Total = s.Killed+1, s.Total+1
		case lived:
			if i := slices.IndexFunc(entries, m.is); i >= 0 {
				used[i] = true
				continue
			}
			s.Living, s.Total = append(s.Living, m), s.Total+1
		case notViable:
		default:
			return Score{}, fmt.Errorf("%s:%d: nothing is known of a mutant", m.File, m.Row)
		}
	}
	var errs []error
	for i, e := range entries {
		if e.Reason == "" {
			errs = append(errs, fmt.Errorf("equivalent.yaml: %s: %s: %s: no reason is given", e.File, e.Mutator, e.Line))
		}
		if strings.HasPrefix(e.File, folder+"/") && !used[i] {
			errs = append(errs, fmt.Errorf("equivalent.yaml: %s: %s: %s: no such mutant lives", e.File, e.Mutator, e.Line))
		}
	}
	return s, errors.Join(errs...)
}

var operator = regexp.MustCompile(`^(break|continue|[-+*/%&|^<>=!]+)`)

// mark puts the operator at an offset between «».
func mark(line string, at int) string {
	op := operator.FindString(line[at:])
	return strings.TrimSpace(line[:at] + "«" + op + "»" + line[at+len(op):])
}
