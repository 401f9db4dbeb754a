package houserules

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// The page of a newcomer's questions, and how far its answers may be from the README.
const (
	questionsPage = "docs/questions.md"
	mostSteps     = 3
	questionCount = 15
)

// question is a row of the page: its letter, the links from the README to the answer, and words that stand there.
type question struct {
	letter string
	chain  []string
	words  []string
}

var questionRow = regexp.MustCompile(`(?m)^\| ([a-z]) \|([^|]*)\|([^|]*)\|([^|]*)\|$`)

func questionsOf(text string) []question {
	var out []question
	for _, m := range questionRow.FindAllStringSubmatch(text, -1) {
		q := question{letter: m[1]}
		for _, to := range linksOf(m[3]) {
			file, _, _ := strings.Cut(to, "#")
			q.chain = append(q.chain, resolve(questionsPage, file))
		}
		for _, w := range codeSpan.FindAllStringSubmatch(m[4], -1) {
			q.words = append(q.words, w[1])
		}
		out = append(out, q)
	}
	return out
}

// questions follows each row of the page from the README, by links and paths that the files really have.
func questions(t *Tree) []string {
	all := questionsOf(string(t.Files[questionsPage]))
	var bad []string
	if len(all) != questionCount {
		bad = append(bad, fmt.Sprintf("%s has %d questions, want %d", questionsPage, len(all), questionCount))
	}
	for _, q := range all {
		if len(q.chain) == 0 || len(q.chain) > mostSteps {
			bad = append(bad, fmt.Sprintf("question %s takes %d steps from the README, want 1 to %d", q.letter, len(q.chain), mostSteps))
			continue
		}
		from := "README.md"
		for _, to := range q.chain {
			if !t.leadsTo(from, to) {
				bad = append(bad, fmt.Sprintf("question %s: %s neither links to %s nor names it", q.letter, from, to))
			}
			from = to
		}
		if len(q.words) == 0 {
			bad = append(bad, fmt.Sprintf("question %s does not say what to look for in %s", q.letter, from))
		}
		for _, w := range q.words {
			if !strings.Contains(string(t.Files[from]), w) {
				bad = append(bad, fmt.Sprintf("question %s: %s does not have %q", q.letter, from, w))
			}
		}
	}
	return bad
}

// leadsTo reports whether a file links to another or names it, so that a reader finds the way without a search.
func (t *Tree) leadsTo(from, to string) bool {
	text := string(t.Files[from])
	if path.Ext(from) != ".md" {
		return strings.Contains(text, to)
	}
	for _, each := range linksOf(text) {
		file, _, _ := strings.Cut(each, "#")
		if resolve(from, file) == to {
			return true
		}
	}
	return strings.Contains(text, "`"+to+"`")
}
