// Package diff compares what a router holds with what it shall hold. Pure.
//
// In: two sets of configuration units, keyed by path. Out: the changes in an
// order in which every reference holds, and the same as a unified diff for
// people. Next: services/push, which shows the text and sends the changes.
package diff

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"

	"github.com/millrace/millrace/internal/ocunit"
)

// Change adds, replaces or deletes one unit.
type Change struct {
	Path string
	// Before and After are canonical JSON; empty where the unit is not there.
	Before, After string
}

// Of lists what must change. First what is written, what is referred to before
// what refers to it; then what is deleted, the other way round. (Both go to the
// router in one Set, which it checks as a whole; the order is for targets that
// check as they go, and for people.)
func Of(current, desired map[string]string) []Change {
	var out []Change
	for path, after := range desired {
		if before := current[path]; !ocunit.Equal(before, after) {
			out = append(out, Change{Path: path, Before: before, After: after})
		}
	}
	for path, before := range current {
		if _, stays := desired[path]; !stays {
			out = append(out, Change{Path: path, Before: before})
		}
	}
	slices.SortFunc(out, compare)
	return out
}

func compare(a, b Change) int {
	_, i, _, _ := ocunit.Of(a.Path)
	_, j, _, _ := ocunit.Of(b.Path)
	if a.After == "" && b.After == "" {
		return cmp.Or(cmp.Compare(j, i), cmp.Compare(a.Path, b.Path))
	}
	return cmp.Or(boolCompare(a.After == "", b.After == ""), cmp.Compare(i, j), cmp.Compare(a.Path, b.Path))
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// Reverse is the way back.
func Reverse(changes []Change) []Change {
	out := make([]Change, len(changes))
	for i, c := range changes {
		out[i] = Change{Path: c.Path, Before: c.After, After: c.Before}
	}
	slices.SortFunc(out, compare)
	return out
}

// Holds tells which of the changes' units the router does not hold as want
// gives them: nil means that it is exactly there.
func Holds(current map[string]string, changes []Change, want func(Change) string) []string {
	var out []string
	for _, c := range changes {
		if !ocunit.Equal(current[c.Path], want(c)) {
			out = append(out, c.Path)
		}
	}
	return out
}

// Before and After pick a side for Holds.
func Before(c Change) string { return c.Before }

// After is the new side.
func After(c Change) string { return c.After }

// contextLines around a change, as in diff -u.
const contextLines = 3

// Text is the unified diff of a router's units, one file per unit.
func Text(changes []Change) string {
	var b strings.Builder
	for _, c := range changes {
		text, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
			A: lines(c.Before), B: lines(c.After),
			FromFile: side(c.Before, c.Path), ToFile: side(c.After, c.Path), Context: contextLines,
		})
		if err != nil { // the writer is a buffer
			text = err.Error() + "\n"
		}
		b.WriteString(text)
	}
	return b.String()
}

func side(unit, path string) string {
	if unit == "" {
		return "/dev/null"
	}
	return path
}

func lines(unit string) []string {
	if unit == "" {
		return nil
	}
	return difflib.SplitLines(unit)
}
