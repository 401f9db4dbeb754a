package houserules

import (
	"regexp"
	"slices"
	"testing"
)

func TestCoined(t *testing.T) {
	const word = "front " + "door"
	check(t, []ruleCase{
		{"in a comment, in a page and in what a command prints", coined, map[string]string{
			"a.md": "# A\n\nThe " + word + ".\n", "x/x.go": "package x\n\n// The " + word + ".\nvar a = \"" + "door" + "\"\n", "cmd/x/x.go": "package main\n\nvar short = \"The " + word + "\"\n",
		}, []string{"a.md:3: \"" + word + "\"; the standard word is API gateway", "cmd/x/x.go:3: ", "x/x.go:3: "}},
		{"in sources of other languages, in what a service says, and in a test", coined, map[string]string{
			"a/a.ts": "// A " + word + ".\n", "a/a.proto": word + "\n", "a/a.c": word + "\n", "policies/a.yaml": "# " + word + "\n", "services/x/x.go": "package x\n\nvar a = \"the " + word + "\"\n",
			"services/x/x_test.go": "package x\n\n// A " + word + ".\nfunc TestTheFrontDoor() { f(\"" + word + "\") }\n", "proto/gen/a.ts": word + "\n", "other/a.yaml": word + "\n", "Makefile": "x: ## " + word + "\n",
			"a/a.sh": "# " + word + "\n", "a/a.py": "# " + word + "\n", "yang/te-a.yang": word + "\n", "a/testdata/a.txt": word + "\n", "package-lock.json": word + "\n", "a/a.bin": word + "\x00",
		}, []string{"Makefile:1: ", "a/a.c:1: ", "a/a.proto:1: ", "a/a.py:1: ", "a/a.sh:1: ", "a/a.ts:1: ", "a/testdata/a.txt:1: ", "other/a.yaml:1: ", "policies/a.yaml:1: ", "yang/te-a.yang:1: ", "services/x/x.go:3: ", "services/x/x_test.go:3: ", "services/x/x_test.go:4: \"Front Door"}},
		{"in declared names", coined, map[string]string{
			"x/x.go": "package x\n\ntype Night int\n\ntype s struct {\n\tway int\n}\n\nfunc (s) takeBack() { night := 1; _ = night }\n\nvar night = 1 // on its way\n",
		}, []string{"x/x.go:3: ", "x/x.go:6: ", "x/x.go:9: "}},
		{"where it is explained", coined, map[string]string{"docs/glossary.md": word + "\n"}, nil},
	})
}

func TestStems(t *testing.T) {
	for expression, want := range map[string][]string{
		`(?i)Front Door`: {"front door"}, `who(so|m)?ever`: {"ever"}, `\b(is|are) told\b`: {" told"}, `tells? (it|them)`: {"tell"}, `(go|went) back|x`: {" back", "x"},
		`a|b?`: nil, `[ab]`: nil, `^$`: nil, `(ab)+c`: {"ab"},
	} {
		if got := stems(regexp.MustCompile(expression)); !slices.Equal(got, want) {
			t.Errorf("%s needs one of %q, want %q", expression, got, want)
		}
	}
}
