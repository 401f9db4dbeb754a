package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestAgentsPagesNameEverySetting: the tables of the two agents' pages are written by hand.
func TestAgentsPagesNameEverySetting(t *testing.T) {
	t.Chdir("../..")
	for _, folder := range onRouters {
		structs, err := structsIn(folder)
		if err != nil {
			t.Fatal(err)
		}
		page, err := os.ReadFile("docs/reference/" + filepath.Base(folder) + ".md")
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(page), "## Configuration")
		section, _, _ := strings.Cut(rest, "\n## ")
		for _, r := range fields(structs, structs["Configuration"], "") {
			last := r.key[strings.LastIndex(r.key, ".")+1:]
			if !regexp.MustCompile(`\b` + regexp.QuoteMeta(last) + `\b`).MatchString(section) {
				t.Errorf("the configuration of docs/reference/%s.md names no %s", filepath.Base(folder), r.key)
			}
		}
	}
}
