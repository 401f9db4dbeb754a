package junosconf

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Parse reads curly-brace text, or `set` and `delete` lines. It accepts the statements of schema.txt and
// rejects all others, with the line.
func Parse(text string) (*Tree, error) {
	t := New()
	return t, t.Load(text)
}

// ParseKnown reads curly-brace text and leaves out every statement that is not in schema.txt: for an
// operator's own configuration.
func ParseKnown(text string) (*Tree, error) {
	t := New()
	tokens, err := scan(text)
	if err != nil {
		return nil, err
	}
	p := parser{tokens: tokens, lenient: true}
	return t, p.block(t.top, false, nil)
}

// Load merges text into t, as the router does. After an error t is undefined.
func (t *Tree) Load(text string) error {
	tokens, err := scan(text)
	if err != nil {
		return err
	}
	if len(tokens) > 0 && (tokens[0].text == "set" || tokens[0].text == "delete") {
		return t.loadLines(tokens)
	}
	p := parser{tokens: tokens}
	if err := p.block(t.top, false, nil); err != nil {
		return err
	}
	t.top.prune()
	return nil
}

// prune takes containers away that hold nothing: they mean nothing.
func (n *node) prune() {
	n.index = nil
	n.children = slices.DeleteFunc(n.children, func(c *node) bool {
		c.prune()
		return c.schema.kind == container && len(c.children) == 0
	})
}

type token struct {
	text string
	line int
	// quoted words are never punctuation.
	quoted bool
}

func (t token) is(mark string) bool { return !t.quoted && t.text == mark }

const punctuation = "{}[];"

func scan(text string) ([]token, error) {
	var out []token
	for line, i := 1, 0; i < len(text); {
		switch c := text[i]; {
		case c == '\n':
			line++
			i++
		case c == ' ' || c == '\t' || c == '\r':
			i++
		case c == '#':
			i += until(text[i:], "\n")
		case strings.HasPrefix(text[i:], "/*"):
			n := strings.Index(text[i+2:], "*/")
			if n < 0 {
				return nil, fmt.Errorf("line %d: the comment does not end", line)
			}
			line += strings.Count(text[i:i+n+4], "\n")
			i += n + 4
		case strings.IndexByte(punctuation, c) >= 0:
			out = append(out, token{text: string(c), line: line})
			i++
		case c == '"':
			word, n, err := unquote(text[i:])
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", line, err)
			}
			out = append(out, token{text: word, line: line, quoted: true})
			i += n
		default:
			n := strings.IndexAny(text[i:], " \t\r\n\"#"+punctuation)
			if n < 0 {
				n = len(text) - i
			}
			out = append(out, token{text: text[i : i+n], line: line})
			i += n
		}
	}
	return out, nil
}

func until(s, mark string) int {
	if n := strings.Index(s, mark); n >= 0 {
		return n
	}
	return len(s)
}

func unquote(s string) (word string, n int, err error) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return b.String(), i + 1, nil
		case c == '\n':
			return "", 0, errors.New("the quoted word does not end")
		case c == '\\' && i+1 < len(s):
			i++
			if s[i] == 'n' {
				b.WriteByte('\n')
				continue
			}
			b.WriteByte(s[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", 0, errors.New("the quoted word does not end")
}

type parser struct {
	tokens []token
	// lenient parsers skip unknown statements.
	lenient bool
}

// block reads statements up to the closing brace, or to the end of the text.
// prefix stands before each: the name of a list whose entries share its braces,
// as in `schedulers { te-alpha { ... } te-beta { ... } }`.
func (p *parser) block(n *node, braced bool, prefix []string) error {
	for len(p.tokens) > 0 {
		if p.tokens[0].is("}") {
			if !braced {
				return fmt.Errorf("line %d: a brace closes nothing", p.tokens[0].line)
			}
			p.tokens = p.tokens[1:]
			return nil
		}
		if err := p.statement(n, prefix); err != nil {
			return err
		}
	}
	if braced {
		return errors.New("the text ends before its braces are closed")
	}
	return nil
}

// statement reads WORDS ; or WORDS { ... }.
func (p *parser) statement(n *node, prefix []string) error {
	end := 0
	for end < len(p.tokens) && !p.tokens[end].is(";") && !p.tokens[end].is("{") && !p.tokens[end].is("}") {
		end++
	}
	if end == len(p.tokens) || p.tokens[end].is("}") || end == 0 {
		return fmt.Errorf("line %d: a statement does not end with ; or {", p.tokens[min(end, len(p.tokens)-1)].line)
	}
	line, words := p.tokens[0].line, append(prefix[:len(prefix):len(prefix)], texts(p.tokens[:end])...)
	opens := p.tokens[end].is("{")
	p.tokens = p.tokens[end+1:]
	if !opens {
		if err := set(n, words); err != nil && !p.lenient {
			return fmt.Errorf("line %d: %s: %w", line, strings.Join(words, " "), err)
		}
		return nil
	}
	inner, prefix, err := enter(n, words)
	if err != nil && p.lenient {
		return p.skip()
	}
	if err != nil {
		return fmt.Errorf("line %d: %s: %w", line, strings.Join(words, " "), err)
	}
	return p.block(inner, true, prefix)
}

// skip goes behind the brace that closes the block just entered.
func (p *parser) skip() error {
	for depth := 1; len(p.tokens) > 0; {
		t := p.tokens[0]
		p.tokens = p.tokens[1:]
		switch {
		case t.is("{"):
			depth++
		case t.is("}"):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
	return errors.New("the text ends before its braces are closed")
}

func texts(tokens []token) []string {
	out := make([]string, len(tokens))
	for i, t := range tokens {
		out[i] = t.text
	}
	return out
}

// enter goes to the container or list entry that words name, or to a list
// whose entries stand in the braces: then prefix is the list's name.
func enter(n *node, words []string) (inner *node, prefix []string, err error) {
	for len(words) > 0 {
		child, consumed := n.schema.byWord(words[0])
		if child == nil || (child.kind != container && child.kind != list) {
			return nil, nil, fmt.Errorf("nothing that %q begins has braces here", words[0])
		}
		if consumed && len(words) == 1 && child.kind == list {
			return n, words, nil
		}
		if consumed {
			words = words[1:]
		}
		if child.kind == container {
			n = n.child(child)
			continue
		}
		keys, rest, err := takeKeys(child, words)
		if err != nil {
			return nil, nil, err
		}
		n, words = n.entry(child, keys), rest
	}
	return n, nil, nil
}

// loadLines reads `set` and `delete` lines; a line ends where the next begins.
func (t *Tree) loadLines(tokens []token) error {
	for len(tokens) > 0 {
		line := tokens[0].line
		end := 0
		for end < len(tokens) && tokens[end].line == line {
			end++
		}
		words := texts(tokens[:end])
		tokens = tokens[end:]
		switch {
		case words[0] == "set":
			if err := t.Set(words[1:]...); err != nil {
				return fmt.Errorf("line %d: %w", line, err)
			}
		case words[0] == "delete" && len(words) > 1:
			t.Delete(words[1:]...) // Junos warns where nothing is there, and goes on
		default:
			return fmt.Errorf("line %d: %q is neither set nor delete", line, words[0])
		}
	}
	return nil
}
