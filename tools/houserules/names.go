package houserules

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// commands names the subcommand of a component where that is not the folder's
// name: these run on routers, where an operator types a short word.
var commands = map[string]string{
	"services/routeragent": "agent",
	"services/peagent":     "pe",
}

// pageList lists the pages of the reference.
const pageList = "docs/reference/README.md"

// oneName: each component has docs/reference/<name>.md, to which the list of pages links, and its name in cmd/millrace.
func oneName(t *Tree) []string {
	words := commandWords(t)
	components := map[string]bool{}
	for name := range t.Files {
		if c := component(name); c != "" {
			components[c] = true
		}
	}
	var bad []string
	for _, c := range slices.Sorted(maps.Keys(components)) {
		_, name, _ := strings.Cut(c, "/")
		page := "docs/reference/" + name + ".md"
		if _, ok := t.Files[page]; !ok {
			bad = append(bad, fmt.Sprintf("%s has no %s", c, page))
		} else if !strings.Contains(string(t.Files[pageList]), "("+name+".md)") {
			bad = append(bad, fmt.Sprintf("%s has no link to %s", pageList, page))
		}
		command := name
		if other, ok := commands[c]; ok {
			command = other
		}
		if !words[command] && !words[c] {
			bad = append(bad, fmt.Sprintf("%s has neither subcommand nor serve name %q in cmd/millrace", c, command))
		}
	}
	return append(bad, metricNames(t)...)
}

var metricName = regexp.MustCompile("^[`\"]millrace_[a-z0-9_]+[`\"]$")

// readers read metrics of others, and count nothing.
var readers = []string{"internal/doctor"}

// metricNames: a metric starts with the folder that counts it.
func metricNames(t *Tree) []string {
	var bad []string
	for _, f := range t.Written(false) {
		parts := strings.Split(f.Path, "/")
		if len(parts) < 3 || !slices.Contains([]string{"services", "collectors", "internal"}, parts[0]) || slices.Contains(readers, parts[0]+"/"+parts[1]) {
			continue
		}
		prefix := "millrace_" + parts[0] + "_" + parts[1]
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && metricName.MatchString(lit.Value) && !strings.HasPrefix(lit.Value[1:], prefix) {
				bad = append(bad, fmt.Sprintf("%s: metric %s does not start with %s", t.at(n), lit.Value, prefix))
			}
			return true
		})
	}
	return bad
}

// commandWords are the first words of the Use of cobra commands, and
// the names in the table of services, in cmd/millrace.
func commandWords(t *Tree) map[string]bool {
	words := map[string]bool{}
	for _, f := range t.Written(false) {
		if f.Folder() != "cmd/millrace" {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Use" {
					words[firstOf(n.Value)] = true
				}
			case *ast.FuncDecl:
				if n.Name.Name == "services" {
					serviceNames(n, words)
				}
			}
			return true
		})
	}
	return words
}

// serviceNames adds the names of the rows that a function returns.
func serviceNames(table *ast.FuncDecl, words map[string]bool) {
	ast.Inspect(table, func(n ast.Node) bool {
		if field, ok := n.(*ast.KeyValueExpr); ok {
			if key, ok := field.Key.(*ast.Ident); ok && key.Name == "name" {
				words[firstOf(field.Value)] = true
			}
		}
		return true
	})
}

// firstOf is the first word of a string literal; empty for anything else.
func firstOf(e ast.Expr) string {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	word, _, _ := strings.Cut(strings.Trim(lit.Value, "`\""), " ")
	return word
}
