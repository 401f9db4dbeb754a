package houserules

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
)

var stemsOf sync.Map

// stems are texts in lower case of which whatever matches contains one; none if any text may match. To look for them
// first takes a hundredth of the time of an expression, and a line has mostly none.
func stems(word *regexp.Regexp) []string {
	if known, ok := stemsOf.Load(word); ok {
		return known.([]string)
	}
	tree, err := syntax.Parse(word.String(), syntax.Perl)
	if err != nil {
		panic(fmt.Sprintf("%s was compiled before: %v", word, err))
	}
	out := needed(tree)
	stemsOf.Store(word, out)
	return out
}

func needed(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{strings.ToLower(string(re.Rune))}
	case syntax.OpCapture, syntax.OpPlus:
		return needed(re.Sub[0])
	case syntax.OpConcat:
		return longest(re.Sub)
	case syntax.OpAlternate:
		return eachOf(re.Sub)
	}
	return nil
}

// longest is what one part of a sequence needs: the part whose shortest stem is the longest.
func longest(parts []*syntax.Regexp) (out []string) {
	for _, part := range parts {
		if s := needed(part); len(s) > 0 && (out == nil || shortest(s) > shortest(out)) {
			out = s
		}
	}
	return out
}

func shortest(texts []string) int {
	return len(slices.MinFunc(texts, func(a, b string) int { return len(a) - len(b) }))
}

// eachOf is what alternatives need, unless one of them needs nothing.
func eachOf(alternatives []*syntax.Regexp) (out []string) {
	for _, a := range alternatives {
		s := needed(a)
		if len(s) == 0 {
			return nil
		}
		out = append(out, s...)
	}
	return out
}

// hasOne reports whether a text contains one of these; it does if there are none.
func hasOne(text string, stems []string) bool {
	return len(stems) == 0 || slices.ContainsFunc(stems, func(s string) bool { return strings.Contains(text, s) })
}
