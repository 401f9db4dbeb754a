package main

import (
	"encoding/json"
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
// line has changed, or a test kills the mutant.
func count(mutants []Mutant, entries []Equivalent, folder string) (Score, error) {
	var s Score
	used := make([]bool, len(entries))
	for _, m := range mutants {
		switch m.Status {
		case "KILLED", "TIMED OUT":
			s.Killed, s.Total = s.Killed+1, s.Total+1
		case "LIVED", "NOT COVERED":
			if i := slices.IndexFunc(entries, m.is); i >= 0 {
				used[i] = true
				continue
			}
			s.Living, s.Total = append(s.Living, m), s.Total+1
		case "NOT VIABLE": // it does not compile
		default:
			return Score{}, fmt.Errorf("%s:%d: gremlins says %q of a mutant", m.File, m.Row, m.Status)
		}
	}
	for i, e := range entries {
		if e.Reason == "" {
			return Score{}, fmt.Errorf("equivalent.yaml: %s: %s: %s: no reason is given", e.File, e.Mutator, e.Line)
		}
		if strings.HasPrefix(e.File, folder+"/") && !used[i] {
			return Score{}, fmt.Errorf("equivalent.yaml: %s: %s: %s: no such mutant lives", e.File, e.Mutator, e.Line)
		}
	}
	return s, nil
}

// parse reads gremlins' report; file names in it are below the folder.
func parse(report []byte, folder string, source func(file string) ([]byte, error)) ([]Mutant, error) {
	var r struct {
		Files []struct {
			Name      string `json:"file_name"`
			Mutations []struct {
				Type, Status string
				Line, Column int
			}
		}
	}
	if err := json.Unmarshal(report, &r); err != nil {
		return nil, err
	}
	var out []Mutant
	for _, f := range r.Files {
		name := folder + "/" + f.Name
		text, err := source(name)
		if err != nil {
			return nil, err
		}
		lines := strings.Split(string(text), "\n")
		for _, m := range f.Mutations {
			if m.Line < 1 || m.Line > len(lines) || m.Column < 1 || m.Column > len(lines[m.Line-1]) {
				return nil, fmt.Errorf("%s has no line %d with a column %d", name, m.Line, m.Column)
			}
			out = append(out, Mutant{File: name, Mutator: m.Type, Status: m.Status, Row: m.Line, Line: mark(lines[m.Line-1], m.Column-1)})
		}
	}
	return out, nil
}

var operator = regexp.MustCompile(`^(break|continue|[-+*/%&|^<>=!]+)`)

// mark puts the operator at an offset between «».
func mark(line string, at int) string {
	op := operator.FindString(line[at:])
	return strings.TrimSpace(line[:at] + "«" + op + "»" + line[at+len(op):])
}
