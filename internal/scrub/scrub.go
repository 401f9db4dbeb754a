// Package scrub takes secrets out of texts that are shown to others.
//
// In: configuration files and what they name, logs, answers of a control plane, and the secrets that are known.
// Out: a bundle of the same without secrets. What only looks like one is taken out, too: a text for others loses little
// by it.
// Next: millrace support-bundle.
package scrub

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// Removed stands where a secret was.
const Removed = "(removed)"

// names of settings and parameters that hold secrets; those that name a file hold none.
var names = regexp.MustCompile(`(?i)password|passwd|passphrase|secret|token|credential|community|cookie|authorization|private|api[-_]?key|psk`)

// secret reports whether a setting's value is one.
func secret(name string) bool { return names.MatchString(name) && !strings.HasSuffix(name, "_file") }

// private is a key in PEM, also one whose end is cut off.
var private = regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\z)`)

// forms are what secrets look like anywhere.
var forms = []struct {
	form *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\b(mr[a-z])_[A-Za-z0-9_-]+`), "${1}_" + Removed},
	{regexp.MustCompile(`(?i)\b(bearer|basic)[ +]+[A-Za-z0-9._~+/=-]+`), "$1 " + Removed},
	{regexp.MustCompile(`(?i)\b((?:set-)?cookie|authorization)(["']?\s*[:=]\s*)[^\r\n]+`), "$1$2" + Removed},
	{regexp.MustCompile(`://[^/\s"'@]+@`), "://" + Removed + "@"},
	{regexp.MustCompile(`\$argon2[a-z]*\$[^\s"']+`), Removed},
}

// assigned is a name and its value in a log, a URL or JSON.
var assigned = regexp.MustCompile(`([A-Za-z][\w.-]*)(\\?["']?\s*[:=]\s*)(\\"[^"\\\n]*\\"|"(?:[^"\\\n]|\\[^\n])*"|'[^'\n]*'|[^\s,;&}\])]+)`)

// least is how long a known secret must be: shorter ones would take words out of every text.
const least = 6

// Text takes secrets out of a text; known are secrets that have no form.
func Text(text string, known []string) string {
	// Before known lines, among which may be the first line of every key.
	text = private.ReplaceAllString(text, Removed)
	// The longest first: one may be a part of another.
	known = slices.SortedFunc(slices.Values(known), func(a, b string) int { return len(b) - len(a) })
	for _, k := range known {
		if len(k) >= least {
			text = strings.ReplaceAll(text, k, Removed)
		}
	}
	for _, f := range forms {
		text = f.form.ReplaceAllString(text, f.with)
	}
	return values(text)
}

// values takes out what is assigned to a name of a secret, also within what is assigned to another name.
func values(text string) string {
	return assigned.ReplaceAllStringFunc(text, func(whole string) string {
		switch m := assigned.FindStringSubmatch(whole); {
		case strings.HasPrefix(m[3], strings.TrimSuffix(Removed, ")")): // whose end is no part of a value
			return whole
		case secret(m[1]):
			return m[1] + m[2] + Removed
		default:
			return m[1] + m[2] + values(m[3])
		}
	})
}

// YAML takes secrets out of a configuration file by the names of its settings, and drops comments. A file that cannot
// be read is an error, since nothing can be said of what is in it.
func YAML(raw []byte, known []string) (string, error) {
	var tree any
	if err := yaml.UnmarshalWithOptions(raw, &tree, yaml.UseOrderedMap()); err != nil {
		return "", fmt.Errorf("it is no YAML, so that its secrets cannot be found") // the error would quote the file
	}
	clean, err := yaml.Marshal(without(tree))
	if err != nil {
		return "", err
	}
	return Text(string(clean), known), nil
}

// without replaces every value below a name of a secret.
func without(v any) any {
	switch v := v.(type) {
	case yaml.MapSlice:
		for i, item := range v {
			if secret(fmt.Sprint(item.Key)) {
				v[i].Value = Removed
				continue
			}
			v[i].Value = without(item.Value)
		}
	case []any:
		for i := range v {
			v[i] = without(v[i])
		}
	}
	return v
}
