package tree

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// unique refuses JSON in which an object has one member twice (RFC 7951 section 4 leaves no meaning to that): the
// decoder keeps one of the two and says nothing. Each member has one colon outside of strings, so a text with more
// colons than its value has members has lost some. That is a look at each byte; which member it is, is looked up only
// then.
func unique(raw []byte, v any) error {
	if colons(raw) == members(v) {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if name, twice := repeated(d); twice {
		return fmt.Errorf("decode JSON: an object has the member %q twice", name)
	}
	return fmt.Errorf("decode JSON: an object has one member twice")
}

func colons(raw []byte) (n int) {
	text := false
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++ // only strings have them, and what follows is part of the string
		case '"':
			text = !text
		case ':':
			if !text {
				n++
			}
		}
	}
	return n
}

func members(v any) (n int) {
	switch x := v.(type) {
	case map[string]any:
		n = len(x)
		for _, m := range x {
			n += members(m)
		}
	case []any:
		for _, e := range x {
			n += members(e)
		}
	}
	return n
}

// repeated reads one value and finds the first member that its object had already.
func repeated(d *json.Decoder) (name string, twice bool) {
	t, err := d.Token()
	if err != nil || (t != json.Delim('{') && t != json.Delim('[')) {
		return "", false
	}
	seen := map[string]bool{}
	for d.More() {
		if t == json.Delim('{') {
			key, _ := d.Token()
			name, _ = key.(string)
			if seen[name] {
				return name, true
			}
			seen[name] = true
		}
		if name, twice = repeated(d); twice {
			return name, true
		}
	}
	_, _ = d.Token()
	return "", false
}
