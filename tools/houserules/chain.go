package houserules

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// chainStart and chainEnd are the two ends of the data path in design and README.
const (
	chainStart = "collectors/flow"
	chainEnd   = "services/push"
)

var folderName = regexp.MustCompile(`(?:^|[^a-z/])((?:cmd|collectors|services|internal|scenario|lab|e2e|policies|tools)(?:/[a-z0-9]+)+)`)

// chain follows the Next lines of package comments from the collector to the push.
func chain(t *Tree) []string {
	next := nextFolders(t)
	var bad []string
	for _, from := range slices.Sorted(maps.Keys(next)) {
		for _, to := range next[from] {
			if !hasFolder(t, to) {
				bad = append(bad, fmt.Sprintf("%s names %s as next, which does not exist", from, to))
			}
		}
	}
	reached, todo := map[string]bool{}, []string{chainStart}
	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		if !reached[at] {
			reached[at] = true
			todo = append(todo, next[at]...)
		}
	}
	if !reached[chainEnd] {
		bad = append(bad, fmt.Sprintf("no chain of Next lines leads from %s to %s; it ends in %v", chainStart, chainEnd, slices.Sorted(maps.Keys(reached))))
	}
	return bad
}

// nextFolders are the folders that each package's comment names after Next.
func nextFolders(t *Tree) map[string][]string {
	next := map[string][]string{}
	for _, f := range t.Written(false) {
		if f.AST.Doc == nil {
			continue
		}
		_, after, found := strings.Cut(f.AST.Doc.Text(), "Next:")
		if !found {
			continue
		}
		paragraph, _, _ := strings.Cut(after, "\n\n")
		for _, m := range folderName.FindAllStringSubmatch(paragraph, -1) {
			next[f.Folder()] = append(next[f.Folder()], m[1])
		}
	}
	return next
}

func hasFolder(t *Tree, folder string) bool {
	for name := range t.Files {
		if Under(name, folder) {
			return true
		}
	}
	return false
}
