package houserules

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// page is README.md beside a small tree.
func page(text string) map[string]string {
	return map[string]string{
		"README.md": text, "docs/a.md": "# One thing\n", "Makefile": "test: build\n",
		commandsPage:      "## millrace change\n## millrace change show CHANGE\n## millrace up\n",
		"internal/x/x.go": "package x\n", "internal/x/x_test.go": "package x\n\nfunc TestX() {}\n",
	}
}

// TestDocuments sends readers to places that are not there.
func TestDocuments(t *testing.T) {
	in := func(text string, want ...string) ruleCase {
		return ruleCase{text, links, page(text), want}
	}
	check(t, []ruleCase{
		in("[a](docs/a.md#one-thing), [out](https://example.com/x), `internal/x/x.go`, `internal/*/*.go`, `TestX`, `make test`, `go test ./internal/x`"),
		in("[a](docs/b.md)", "README.md links to docs/b.md: there is no docs/b.md"),
		in("[a](docs/a.md#two)", "README.md links to docs/a.md#two: docs/a.md has no heading #two"),
		in("`internal/y/y.go`", "README.md names internal/y/y.go"),
		in("`internal/x/{x,y}.go`", "README.md names internal/x/{x,y}.go"),
		in("```\ngo test ./internal/y/...\n```", "README.md names internal/y"),
		in("`TestY`", "README.md names TestY"),
		in("`make tests`", "README.md names make tests"),
		in("```\nbin/millrace change show ID\nmillrace up --dump # millrace, all of it\nset user millrace class x\n```"),
		in("`millrace change diff ID`, `millrace run`", "README.md names the command millrace change diff", "README.md names the command millrace run"),
		in("`services/<name>/root.go`, `two/ping/loss`, `docs/NAME.md`"),
		{"a page that code names", links, map[string]string{"internal/x/x.go": "package x // docs/gone.md\n"}, []string{"internal/x/x.go names docs/gone.md"}},
	})
}

func TestAnchorsAreThoseOfLinks(t *testing.T) {
	got := anchors("# A `b` (c), d\n## [Link](x.md) & more\n## Twice\n## Twice\n```\n# no heading\n```\n")
	if diff := cmp.Diff(got, []string{"a-b-c-d", "link--more", "twice", "twice-1"}); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

// TestQuestions breaks the way to an answer.
func TestQuestions(t *testing.T) {
	row := "| a | Why? | [b](b.md) → [c](../x/c.go) | `because` |\n"
	good := map[string]string{"README.md": "[b](docs/b.md)", "docs/b.md": "`x/c.go`", "x/c.go": "package x // because\n"}
	with := func(rows, file, text string) map[string]string {
		all := map[string]string{questionsPage: rows}
		for name, content := range good {
			all[name] = content
		}
		all[file] = text
		return all
	}
	few := []string{questionsPage + " has 1 questions, want 15"}
	check(t, []ruleCase{
		{"a way that holds", questions, with(row, "LICENSE", ""), few},
		{"a page that no longer names the next", questions, with(row, "docs/b.md", ""), append(few, "question a: docs/b.md neither links to x/c.go")},
		{"words that are gone", questions, with(row, "x/c.go", "package x\n"), append(few, `question a: x/c.go does not have "because"`)},
		{"a way of four steps", questions, with(strings.Replace(row, "[b]", "[b](b.md) → [b](b.md) → [b]", 1), "LICENSE", ""), append(few, "question a takes 4 steps")},
		{"nothing to look for", questions, with(strings.Replace(row, "`because`", "", 1), "LICENSE", ""), append(few, "question a does not say what to look for")},
	})
}
