package main

import (
	"regexp"
	"slices"
	"strings"
)

// columns is the widest that a line of text is.
const columns = 120

// keywords of Python, which are no names of fields in a class and of parameters.
var keywords = strings.Fields(`False None True and as assert async await break class continue def del elif else except finally for from
	global if import in is lambda nonlocal not or pass raise return try while with yield`)

var hump = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// snake is RequestAll as request_all and If-Match as if_match.
func snake(name string) string {
	return strings.ToLower(strings.ReplaceAll(hump.ReplaceAllString(name, "${1}_$2"), "-", "_"))
}

// parameterName is the name of a parameter of a method.
func parameterName(name string) string {
	name = snake(name)
	if slices.Contains(keywords, name) {
		return name + "_"
	}
	return name
}

// camel is ON_FAILURE as OnFailure.
func camel(name string) string {
	var out strings.Builder
	for part := range strings.SplitSeq(name, "_") {
		if part != "" {
			out.WriteString(part[:1] + strings.ToLower(part[1:]))
		}
	}
	return out.String()
}

// wrap breaks a paragraph into lines that fit behind an indentation.
func wrap(text string, indent int) []string {
	var out []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && indent+len(line)+1+len(word) > columns {
			out = append(out, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		out = append(out, line)
	}
	return out
}

// docstring is a string of paragraphs below a definition; none for no text.
func docstring(indent int, paragraphs ...string) string {
	margin := strings.Repeat(" ", indent)
	var lines []string
	for _, p := range paragraphs {
		if p == "" {
			continue
		}
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		for line := range strings.SplitSeq(p, "\n") {
			lines = append(lines, wrap(line, indent+len(`""""""`))...)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	text := strings.ReplaceAll(strings.Join(lines, "\n"), `\`, `\\`)
	if start, ok := strings.CutSuffix(text, `"`); ok && len(lines) == 1 {
		text = start + `\"`
	}
	text = strings.ReplaceAll(text, `"""`, `\"\"\"`)
	text = strings.ReplaceAll(text, "\n", "\n"+margin)
	text = strings.ReplaceAll(text, "\n"+margin+"\n", "\n\n")
	if len(lines) > 1 {
		text += "\n" + margin
	}
	return margin + `"""` + text + `"""` + "\n"
}
