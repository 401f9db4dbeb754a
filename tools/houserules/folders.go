package houserules

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// treePage is the decision about the tree.
const treePage = "docs/adr/0010-the-tree.md"

// folders: the README's table has each top folder, and the decision about the tree each top folder, component and
// package that services share.
func folders(t *Tree) []string {
	tops, parts := map[string]bool{}, map[string]bool{}
	for name := range t.Files {
		if top, _, ok := strings.Cut(name, "/"); ok && !strings.HasPrefix(top, ".") {
			tops[top] = true
		}
		if c := component(name); c != "" {
			parts[c] = true
		}
	}
	readme, page := string(t.Files["README.md"]), string(t.Files[treePage])
	var bad []string
	for _, top := range slices.Sorted(maps.Keys(tops)) {
		if !strings.Contains(readme, "`"+top+"/") {
			bad = append(bad, fmt.Sprintf("%s/ has no row in README.md, The tree", top))
		}
		if !regexp.MustCompile(`(?m)(^|\s)` + top + `/`).MatchString(page) {
			bad = append(bad, fmt.Sprintf("%s/ is not in %s", top, treePage))
		}
	}
	for _, part := range slices.Sorted(maps.Keys(parts)) {
		_, name, _ := strings.Cut(part, "/")
		if !regexp.MustCompile(`\b` + name + `\b`).MatchString(page) {
			bad = append(bad, fmt.Sprintf("%s is not in %s", part, treePage))
		}
	}
	for _, shared := range slices.Sorted(maps.Keys(vocabulary)) {
		if !strings.Contains(page, "`"+shared+"`") {
			bad = append(bad, fmt.Sprintf("%s may be imported by other services and is not in %s", shared, treePage))
		}
	}
	return bad
}
