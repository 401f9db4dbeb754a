// Package diff compares a router's running config with the intended one. Pure.
//
// In: two sets of managed config entries, keyed by path. Out: the changes in an
// order in which no reference dangles, and the same as a unified diff for
// people. Next: services/push, which shows the text and sends the changes.
//
// Mutation testing: 10 of 10 killed (docs/reference/mutants.md).
package diff

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"

	"github.com/millrace/millrace/internal/configentry"
)

// Change adds, replaces or deletes one entry.
type Change struct {
	Path     string
	Encoding configentry.Encoding
	// Before and After are canonical bodies; empty where there is no entry.
	Before, After string
}

// Of lists the changes from the running to the intended config. Entries that
// are written come first, referenced entries before those that refer to them;
// deletions follow in the reverse order. (All go to the router in one Set, which
// it checks as a whole; the order is for targets that check one by one, and for
// people.)
func Of(encoding configentry.Encoding, running, intended map[string]string) []Change {
	var out []Change
	for path, after := range intended {
		if before := running[path]; !encoding.Equal(before, after) {
			out = append(out, Change{Path: path, Encoding: encoding, Before: before, After: after})
		}
	}
	for path, before := range running {
		if _, stays := intended[path]; !stays {
			out = append(out, Change{Path: path, Encoding: encoding, Before: before})
		}
	}
	slices.SortFunc(out, compare)
	return out
}

func compare(a, b Change) int {
	_, i, _, _ := configentry.Of(a.Path)
	_, j, _, _ := configentry.Of(b.Path)
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

// Reverse lists the changes that undo these.
func Reverse(changes []Change) []Change {
	out := make([]Change, len(changes))
	for i, c := range changes {
		out[i] = Change{Path: c.Path, Encoding: c.Encoding, Before: c.After, After: c.Before}
	}
	slices.SortFunc(out, compare)
	return out
}

// Mismatches lists the paths at which the running config is not the given side
// of the changes; nil means that it is exactly that side.
func Mismatches(running map[string]string, changes []Change, side func(Change) string) []string {
	var out []string
	for _, c := range changes {
		if !c.Encoding.Equal(running[c.Path], side(c)) {
			out = append(out, c.Path)
		}
	}
	return out
}

// Before is the side of the changes that a rollback restores.
func Before(c Change) string { return c.Before }

// After is the intended side of the changes.
func After(c Change) string { return c.After }

// contextLines around a change, as in diff -u.
const contextLines = 3

// Text is the unified diff of the changes, one file per entry.
func Text(changes []Change) string {
	var b strings.Builder
	for _, c := range changes {
		text, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
			A: lines(c.Before), B: lines(c.After),
			FromFile: fileName(c.Before, c.Path), ToFile: fileName(c.After, c.Path), Context: contextLines,
		})
		if err != nil { // the writer is a buffer
			text = err.Error() + "\n"
		}
		b.WriteString(text)
	}
	return b.String()
}

func fileName(body, path string) string {
	if body == "" {
		return "/dev/null"
	}
	return path
}

func lines(body string) []string {
	if body == "" {
		return nil
	}
	return difflib.SplitLines(body)
}
