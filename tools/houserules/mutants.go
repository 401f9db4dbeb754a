package houserules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The page of scores, and the command that measures them.
const (
	mutantsPage    = "docs/reference/mutants.md"
	mutantsCommand = "tools/mutants/main.go"
)

var (
	scoreRow      = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (\\d+) \\| (\\d+) \\|")
	unscoredRow   = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| [^|0-9]")
	mutantsTarget = regexp.MustCompile(`\{folder: "([^"]+)"`)
)

// mutantScores compares the page with what the command measures, with the pure packages and with their comments.
func mutantScores(t *Tree) []string { return mutantScoresOf(t, pureFolders) }

func mutantScoresOf(t *Tree, folders []string) []string {
	page := string(t.Files[mutantsPage])
	scored, unscored, measured := firsts(scoreRow, page), firsts(unscoredRow, page), firsts(mutantsTarget, string(t.Files[mutantsCommand]))
	var bad []string
	for _, folder := range measured {
		if !slices.Contains(scored, folder) {
			bad = append(bad, fmt.Sprintf("%s measures %s, and %s has no score of it", mutantsCommand, folder, mutantsPage))
		}
	}
	for _, folder := range scored {
		if !slices.Contains(measured, folder) {
			bad = append(bad, fmt.Sprintf("%s has a score of %s, which %s does not measure", mutantsPage, folder, mutantsCommand))
		}
	}
	for _, folder := range folders {
		if !slices.Contains(scored, folder) && !slices.Contains(unscored, folder) {
			bad = append(bad, fmt.Sprintf("%s: %s has neither its score nor why it has none", folder, mutantsPage))
		}
	}
	for _, m := range scoreRow.FindAllStringSubmatch(page, -1) {
		want := fmt.Sprintf("Mutation testing: %s of %s killed (%s).", m[2], m[3], mutantsPage)
		if !strings.Contains(t.packageComment(m[1]), want) {
			bad = append(bad, fmt.Sprintf("%s: the package comment does not end in %q", m[1], want))
		}
	}
	return bad
}

func firsts(r *regexp.Regexp, text string) (out []string) {
	for _, m := range r.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// packageComment is that of a folder's package, in one line.
func (t *Tree) packageComment(folder string) string {
	for _, f := range t.Written(false) {
		if f.Folder() == folder && f.AST.Doc != nil {
			return strings.Join(strings.Fields(f.AST.Doc.Text()), " ")
		}
	}
	return ""
}
