package houserules

import "testing"

func TestCoined(t *testing.T) {
	const word = "front " + "door"
	check(t, []ruleCase{
		{"in a comment, in a page and in what a command prints", coined, map[string]string{
			"a.md": "# A\n\nThe " + word + ".\n", "x/x.go": "package x\n\n// The " + word + ".\nvar a = \"" + "door" + "\"\n", "cmd/x/x.go": "package main\n\nvar short = \"The " + word + "\"\n",
		}, []string{"a.md:3: \"" + word + "\"; the standard word is API gateway", "cmd/x/x.go:3: ", "x/x.go:3: "}},
		{"in sources of other languages, in what a service says, and in a test", coined, map[string]string{
			"a/a.ts": "// A " + word + ".\n", "a/a.proto": word + "\n", "a/a.c": word + "\n", "policies/a.yaml": "# " + word + "\n", "services/x/x.go": "package x\n\nvar a = \"the " + word + "\"\n",
			"services/x/x_test.go": "package x\n\n// A " + word + ".\nfunc TestTheFrontDoor() { f(\"" + word + "\") }\n", "proto/gen/a.ts": word + "\n", "other/a.yaml": word + "\n",
		}, []string{"a/a.c:1: ", "a/a.proto:1: ", "a/a.ts:1: ", "policies/a.yaml:1: ", "services/x/x.go:3: ", "services/x/x_test.go:3: ", "services/x/x_test.go:4: \"Front Door"}},
		{"where it is explained", coined, map[string]string{"docs/glossary.md": word + "\n"}, nil},
	})
}
