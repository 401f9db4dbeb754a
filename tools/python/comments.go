package main

import (
	"regexp"
	"strings"
)

// comments of a .proto file: of messages, enums, fields, values and calls, as Terms, Terms.from, State.STATE_HELD and
// CircuitsService.Quote. The compiled form has none.
type comments struct {
	text map[string]string
	// order of the fields of each message.
	order map[string][]string
}

var (
	blockLine = regexp.MustCompile(`^(?:message|enum|service) (\w+) \{`)
	callLine  = regexp.MustCompile(`^\s+rpc (\w+)\(`)
	fieldLine = regexp.MustCompile(`^\s+(?:(?:repeated |optional )?[\w.]+ )?(\w+) = \d+`)
)

// readComments takes the comment that ends on the line before a declaration. Messages in messages are not known.
func readComments(source string) comments {
	out := comments{text: map[string]string{}, order: map[string][]string{}}
	var block string
	var said []string
	for line := range strings.Lines(source) {
		line = strings.TrimRight(line, "\n")
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "//"); ok {
			said = append(said, strings.TrimSpace(text))
			continue
		}
		name := ""
		if m := blockLine.FindStringSubmatch(line); m != nil {
			block, name = m[1], m[1]
		} else if m := callLine.FindStringSubmatch(line); m != nil {
			name = block + "." + m[1]
		} else if m := fieldLine.FindStringSubmatch(line); m != nil {
			name = block + "." + m[1]
			out.order[block] = append(out.order[block], m[1])
		}
		if name != "" {
			out.text[name] = strings.Join(said, " ")
		}
		said = nil
	}
	return out
}
