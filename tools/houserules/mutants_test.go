package houserules

import "testing"

func TestMutantScores(t *testing.T) {
	const (
		measured = "package main\n\nvar targets = []target{\n\t{folder: \"a\"},\n\t{folder: \"b\", skip: \"x\"},\n}\n"
		table    = "| package | killed | of | |\n|---|---:|---:|---:|\n| `a` | 9 | 10 | 90 % |\n| `b` | 4 | 4 | 100 % |\n\n| `c` | a test's own |\n"
		good     = "// Package x does it.\n//\n// Mutation testing: 9 of 10 killed\n// (docs/reference/mutants.md).\npackage x\n"
		best     = "// Package x does it. Mutation testing: 4 of 4 killed (docs/reference/mutants.md).\npackage x\n"
	)
	abc := func(tr *Tree) []string { return mutantScoresOf(tr, []string{"a", "b", "c"}) }
	with := func(page, a, b string) map[string]string {
		return map[string]string{mutantsPage: page, mutantsCommand: measured, "a/a.go": a, "b/b.go": b}
	}
	check(t, []ruleCase{
		{"all agree", abc, with(table, good, best), nil},
		{"a pure package that nobody measures", func(tr *Tree) []string { return mutantScoresOf(tr, []string{"a", "d"}) }, with(table, good, best), []string{"d: docs/reference/mutants.md has neither"}},
		{"a comment with another score", abc, with(table, best, best), []string{"a: the package comment"}},
		{"a comment without one", abc, with(table, good, "package x\n"), []string{"b: the package comment"}},
		{"a package without a row", abc, with("| `a` | 9 | 10 | 90 % |\n| `c` | a test's own |\n", good, best), []string{
			"tools/mutants/main.go measures b", "b: docs/reference/mutants.md has neither",
		}},
		{"a row without a package", abc, with(table+"| `e` | 1 | 1 | 100 % |\n", good, best), []string{"docs/reference/mutants.md has a score of e", "e: the package comment"}},
	})
}
