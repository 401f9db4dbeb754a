package houserules

import "testing"

func TestCoined(t *testing.T) {
	const word = "front " + "door"
	check(t, []ruleCase{
		{"in a comment, in a page and in what a command prints", coined, map[string]string{
			"a.md": "# A\n\nThe " + word + ".\n", "x/x.go": "package x\n\n// The " + word + ".\nvar a = \"" + word + "\"\n", "cmd/x/x.go": "package main\n\nvar short = \"The " + word + "\"\n",
		}, []string{"a.md:3: \"" + word + "\"; the standard word is API gateway", "cmd/x/x.go:3: ", "x/x.go:3: "}},
		{"where it is explained", coined, map[string]string{"docs/glossary.md": word + "\n"}, nil},
	})
}
