package main

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/millrace/millrace/internal/units"
)

// TestReferenceHasEveryDefault: an operator who leaves out a setting learns from its row what holds. The row of a
// section counts for a setting that says nothing itself: a type that two sections share has two defaults.
func TestReferenceHasEveryDefault(t *testing.T) {
	rows, at := settingsOfTheReference(t), dumpOfDefaults(t)
	for key, value := range at {
		said := defaultsOf(rows, key)
		switch {
		case isEmpty(value) && !slices.ContainsFunc(said, saysEmpty) && len(said) > 0:
			t.Errorf("%s is empty by default, and docs/reference/configuration.md says %q", key, said)
		case !isEmpty(value) && !slices.ContainsFunc(said, func(s string) bool { return isSaid(value, s) }):
			t.Errorf("%s is %v by default; write Default %v. into its comment, and run make generate", key, value, value)
		}
	}
	if len(at) < 200 {
		t.Errorf("there are %d settings; some are not compared", len(at))
	}
}

// defaultsOf is what the row of a setting says after Default, or that of its nearest section that says something.
func defaultsOf(rows map[string]string, key string) []string {
	for {
		if said := defaultsIn(rows[key]); len(said) > 0 {
			return said
		}
		dot := strings.LastIndex(key, ".")
		if dot < 0 {
			return nil
		}
		key = key[:dot]
	}
}

func defaultsIn(row string) []string {
	parts := regexp.MustCompile(`\bDefault(?: |: )`).Split(row, -1)
	return parts[1:]
}

// saysEmpty: a default in other words than a value's is one that the program works out, or none.
func saysEmpty(said string) bool {
	return regexp.MustCompile(`^(none|0|false|nobody|always|the|those|that)\b`).MatchString(said)
}

// isSaid reports whether the text begins with the value, as a file may have it.
func isSaid(value any, said string) bool {
	said = strings.ReplaceAll(said, "<data_dir>", defaultDataDir)
	plain := scalar(value)
	if rest, found := strings.CutPrefix(strings.ReplaceAll(said, `"`, ""), plain); found && !regexp.MustCompile(`^[\w]`).MatchString(rest) {
		return true
	}
	words := strings.FieldsFunc(said, func(r rune) bool { return strings.ContainsRune(" ,;:", r) })
	first := strings.TrimSuffix(words[0], ".")
	if want, err := time.ParseDuration(plain); err == nil {
		is, err := time.ParseDuration(first)
		return err == nil && is == want
	}
	if want, err := strconv.ParseUint(plain, 10, 64); err == nil && len(words) > 1 {
		is, err := units.ParseSize(first + strings.TrimSuffix(words[1], "."))
		return err == nil && uint64(is) == want
	}
	return false
}

func scalar(value any) string {
	raw, _ := yaml.MarshalWithOptions(value, yaml.Flow(true))
	plain := strings.ReplaceAll(strings.TrimSpace(string(raw)), `"`, "")
	return strings.TrimSuffix(plain, ".0")
}

func isEmpty(value any) bool {
	return slices.Contains([]string{"", "0", "0s", "false", "null", "[]", "{}"}, scalar(value))
}

// settingsOfTheReference are the page's rows by their whole keys.
func settingsOfTheReference(t *testing.T) map[string]string {
	t.Helper()
	raw, err := os.ReadFile("../../docs/reference/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	out, section := map[string]string{}, ""
	for line := range strings.Lines(string(raw)) {
		if m := regexp.MustCompile("^## `([^`]+)`").FindStringSubmatch(line); m != nil {
			section = m[1] + "."
		}
		if m := regexp.MustCompile("^\\| `([^`]+)` \\| [^|]* \\| (.*) \\|$").FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			out[section+m[1]] = m[2]
		}
	}
	return out
}

// dumpOfDefaults is what `up --dump` prints, by whole keys.
func dumpOfDefaults(t *testing.T) map[string]any {
	t.Helper()
	raw, err := yaml.Marshal(defaultConfig(defaultDataDir).document.Interface())
	if err != nil {
		t.Fatal(err)
	}
	var document map[string]any
	if err := yaml.Unmarshal(raw, &document); err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	leavesOf(document, "", out)
	return out
}

func leavesOf(section map[string]any, prefix string, out map[string]any) {
	for key, value := range section {
		if inner, ok := value.(map[string]any); ok && len(inner) > 0 {
			leavesOf(inner, prefix+key+".", out)
			continue
		}
		out[prefix+key] = value
	}
}
