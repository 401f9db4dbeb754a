package houserules

import (
	"slices"
	"strings"
	"testing"
)

func TestFolders(t *testing.T) {
	var shared strings.Builder
	for name := range vocabulary {
		shared.WriteString("`" + name + "`\n")
	}
	page := shared.String() + "```\nservices/  what decides: alpha\n           and split\ndocs/  pages      tools/\n```\nIt would have split a service over tools/.\n"
	files := func(readme, page string) map[string]string {
		return map[string]string{"README.md": readme, treePage: page, "services/alpha/x.txt": "", "services/split/x.txt": "", "tools/x.txt": "", ".ci/run": ""}
	}
	check(t, []ruleCase{
		{"a tree that is described", folders, files("```\nservices/alpha → services/split\n```\n`services/`, `docs/`, `tools/x`", page), nil},
		{"a folder, a service and a shared package that are not", folders, files("```\nservices/splits\n```\n`services/`, `docs/`, services/alpha", strings.NewReplacer("alpha", "", "and split", "", "pages      tools/", "alpha", "services/paths/spf", "spf").Replace(page)), []string{
			"tools/ has no row in README.md", "tools/ is not in the drawing of " + treePage, "services/alpha is not in the drawing of " + treePage, "services/alpha is not in the drawing of README.md",
			"services/split is not in the drawing of " + treePage, "services/split is not in the drawing of README.md", "services/paths/spf may be imported",
		}},
	})
	if !slices.ContainsFunc(Rules(), func(r Rule) bool { return r.Name == "README and decision 10 have every folder" }) {
		t.Error("the rule is not among the rules")
	}
}
