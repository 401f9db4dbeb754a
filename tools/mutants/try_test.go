package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// module has one of each shape of function that a schema must pass on to a copy.
const module = `package p

const limit = 1 << 2

var start = 3 - 1

type pile[T any] struct{ list []T }

func (pile[T]) size(a int, _ int, rest ...T) int { return a + len(rest) }

func least[T int | int8, U any](a T, _ string, b T) (c T) {
	if c = b; a < b {
		return a
	}
	return c
}

func double(n *int) { *n += *n }

func text(a, b string) string { return a + b }

func turns(n int) (out int) {
	for range n {
		if out++; out == limit {
			break
		}
	}
	return out
}

func never(n int) int { return n * 1 }

func down(n int) int {
	if n > 3 {
		n--
		return down(n)
	}
	return n
}

func init() { start++ }

func edge(n int) bool { return n == 1 || n == 9 }
`

const moduleTest = `package p

import "testing"

func TestAll(t *testing.T) {
	n := 2
	double(&n)
	got := []int{limit, start, pile[string]{}.size(1, 0, "a", "b"), least[int, any](1, "", 2), n, turns(3), turns(9), down(9)}
	want := []int{4, 3, 3, 1, 4, 3, 4, 3}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("value %d: %d, want %d", i, got[i], want[i])
		}
	}
	if text("a", "b") != "ab" || !edge(9) || edge(5) {
		t.Error("text or edge")
	}
}
`

func TestWhatBecomesOfEachMutant(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module m\n\ngo 1.26\n", "p/p.go": module, "p/p_test.go": moduleTest} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	mutants, err := try(root, target{folder: "p"}, 2, func(Mutant) {})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, m := range mutants {
		got[m.Mutator+" "+m.Line] = m.Status
	}
	want := map[string]string{
		"INVERT_BITWISE const limit = 1 «<<» 2":                                                       killed, // outside of functions
		"ARITHMETIC_BASE var start = 3 «-» 1":                                                         killed,
		"INCREMENT_DECREMENT func init() { start«++» }":                                               killed,
		"ARITHMETIC_BASE func (pile[T]) size(a int, _ int, rest ...T) int { return a «+» len(rest) }": killed,
		"INVERT_BITWISE func least[T int «|» int8, U any](a T, _ string, b T) (c T) {":                notViable,
		"CONDITIONALS_BOUNDARY if c = b; a «<» b {":                                                   lived, // the same of equal numbers
		"CONDITIONALS_NEGATION if c = b; a «<» b {":                                                   killed,
		"INVERT_ASSIGNMENTS func double(n *int) { *n «+=» *n }":                                       killed,
		"REMOVE_SELF_ASSIGNMENTS func double(n *int) { *n «+=» *n }":                                  killed,
		"ARITHMETIC_BASE func text(a, b string) string { return a «+» b }":                            notViable,
		"INCREMENT_DECREMENT if out«++»; out == limit {":                                              killed,
		"CONDITIONALS_NEGATION if out++; out «==» limit {":                                            killed,
		"INVERT_LOOPCTRL «break»":                                                                     killed,
		"ARITHMETIC_BASE func never(n int) int { return n «*» 1 }":                                    lived, // nobody calls it
		"CONDITIONALS_BOUNDARY if n «>» 3 {":                                                          killed,
		"CONDITIONALS_NEGATION if n «>» 3 {":                                                          killed,
		"INCREMENT_DECREMENT n«--»":                                                                   killed, // it never ends
		"INVERT_LOGICAL func edge(n int) bool { return n == 1 «||» n == 9 }":                          killed, // though vet refuses it
		"CONDITIONALS_NEGATION func edge(n int) bool { return n «==» 1 || n == 9 }":                   killed,
		"CONDITIONALS_NEGATION func edge(n int) bool { return n == 1 || n «==» 9 }":                   killed,
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

// A package whose tests fail by themselves gives no result for its mutants.
func TestTestsMustPassWithoutAMutant(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module m\n\ngo 1.26\n", "p.go": "package p\n", "p_test.go": "package p\nimport \"testing\"\nfunc TestIt(t *testing.T) { t.Fatal() }\n",
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := try(root, target{folder: "."}, 1, func(Mutant) {}); err == nil {
		t.Error("mutants of a package were judged by tests that fail without them")
	}
}

func TestALateTestTakesAFifthOfTheTime(t *testing.T) {
	got := late("=== RUN   TestA\n--- PASS: TestA (0.02s)\n    --- PASS: TestB/x (0.07s)\n--- PASS: TestB (0.07s)\n--- PASS: TestC (0.01s)\n--- SKIP: TestD (1.00s)\nPASS\n")
	if diff := cmp.Diff(got, []string{"TestB"}); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}
