package houserules

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"
)

// commandsPage is written from the commands themselves, so it has them all.
const commandsPage = "docs/reference/cli.md"

// speech are verbs of people. The field's tools show, list, check, print and verify.
var speech = regexp.MustCompile(`^(Say|Ask|Tell|Look) `)

// commandVerbs finds commands that are summed up by a verb of speech.
func commandVerbs(t *Tree) []string {
	var bad []string
	for _, f := range t.Written(false) {
		ast.Inspect(f.AST, func(n ast.Node) bool {
			kv, ok := n.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			key, isName := kv.Key.(*ast.Ident)
			text, isText := kv.Value.(*ast.BasicLit)
			if isName && isText && key.Name == "Short" && speech.MatchString(strings.Trim(text.Value, "`\"")) {
				bad = append(bad, fmt.Sprintf("%s: %s: Show, List, Check, Print, Verify or Request", t.at(kv), text.Value))
			}
			return true
		})
	}
	return bad
}

var (
	commandHeading = regexp.MustCompile(`(?m)^## millrace((?: [a-z][a-z-]*)+)`)
	// typed is millrace and the words after it, at the start of a line, after a prompt, a path or a pipe.
	typed = regexp.MustCompile(`(?m)(?:^ *|\$ |/|\| |&& |\()millrace((?: [a-z][a-z-]*)+)`)
	// aside is a comment beside a command.
	aside = regexp.MustCompile(`(?m)#.*$`)
)

// commandLines are the words after millrace that its commands have: of each command the next words.
type commandLines map[string][]string

func commandLinesOf(t *Tree) commandLines {
	out := commandLines{}
	for _, m := range commandHeading.FindAllSubmatch(t.Files[commandsPage], -1) {
		words := strings.Fields(string(m[1]))
		out[words[0]] = append(out[words[0]], strings.Join(words[1:], " "))
	}
	return out
}

// unknown lists commands in a piece of code that millrace does not have.
func (c commandLines) unknown(code string) []string {
	var bad []string
	for _, m := range typed.FindAllStringSubmatch(aside.ReplaceAllString(code, ""), -1) {
		words := strings.Fields(m[1])
		below, known := c[words[0]]
		if !known || len(words) > 1 && len(below) > 1 && !slices.Contains(below, words[1]) {
			bad = append(bad, "millrace "+strings.Join(words[:min(2, len(words))], " "))
		}
	}
	return bad
}
