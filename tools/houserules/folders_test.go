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
	page := shared.String() + "services/  alpha\ndocs/  pages      tools/\n"
	files := func(readme, page string) map[string]string {
		return map[string]string{"README.md": readme, treePage: page, "services/alpha/x.txt": "", "tools/x.txt": "", ".ci/run": ""}
	}
	check(t, []ruleCase{
		{"a tree that is described", folders, files("`services/`, `docs/`, `tools/x`", page), nil},
		{"a folder, a service and a shared package that are not", folders, files("`services/`, `docs/`", strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(page, "alpha", ""), "tools/", ""), "services/paths/spf", "spf")), []string{
			"tools/ has no row in README.md", "tools/ is not in " + treePage, "services/alpha is not in", "services/paths/spf may be imported",
		}},
	})
	if !slices.ContainsFunc(Rules(), func(r Rule) bool { return r.Name == "README and decision 10 have every folder" }) {
		t.Error("the rule is not among the rules")
	}
}
