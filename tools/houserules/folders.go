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

// folders: the README has each top folder in its table and each component in its drawing, and the decision about the
// tree each package that services share and, in its drawing, each top folder and component. Elsewhere on the page a
// name may be a word: to split.
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
	tree := drawing(page)
	var bad []string
	for _, top := range slices.Sorted(maps.Keys(tops)) {
		if !strings.Contains(readme, "`"+top+"/") {
			bad = append(bad, fmt.Sprintf("%s/ has no row in README.md, The tree", top))
		}
		if !regexp.MustCompile(`(?m)(^|\s)` + top + `/`).MatchString(tree) {
			bad = append(bad, fmt.Sprintf("%s/ is not in the drawing of %s", top, treePage))
		}
	}
	for _, part := range slices.Sorted(maps.Keys(parts)) {
		top, name, _ := strings.Cut(part, "/")
		if !regexp.MustCompile(`\b` + name + `\b`).MatchString(entry(tree, top)) {
			bad = append(bad, fmt.Sprintf("%s is not in the drawing of %s", part, treePage))
		}
		if !regexp.MustCompile(part + `\b`).MatchString(drawing(readme)) {
			bad = append(bad, fmt.Sprintf("%s is not in the drawing of README.md", part))
		}
	}
	for _, shared := range slices.Sorted(maps.Keys(vocabulary)) {
		if !strings.Contains(page, "`"+shared+"`") {
			bad = append(bad, fmt.Sprintf("%s may be imported by other services and is not in %s", shared, treePage))
		}
	}
	return bad
}

// drawing is the first code block of a page.
func drawing(page string) string {
	_, rest, _ := strings.Cut(page, "```\n")
	block, _, _ := strings.Cut(rest, "```")
	return block
}

// entry is what a drawing says of a top folder: its line, and the indented ones below it.
func entry(drawing, top string) string {
	return regexp.MustCompile(`(?m)^` + top + `/.*(\n[ \t].*)*`).FindString(drawing)
}
