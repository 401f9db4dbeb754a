package lab

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/scenario"
)

// TestTheFRRExampleIsTheLabs: what docs/how-to/onboard-a-router.md has for a router's FRR is what the lab's routers
// run, in the same order; addresses, numbers and names of ports are the example's own.
func TestTheFRRExampleIsTheLabs(t *testing.T) {
	raw, err := os.ReadFile("../docs/how-to/onboard-a-router.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "```frr\n")
	example, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the page has no block of FRR")
	}
	s := load(t, "hntes-redirect")
	wr := s.Routers[slices.IndexFunc(s.Routers, func(r scenario.Router) bool { return r.Name == "WR" })]
	page, lab := statements(example), statements(frrConfig(s, wr)+segmentConfig(wr))
	for section, want := range page {
		at := 0
		for _, statement := range want {
			next := slices.Index(lab[section][at:], statement)
			if next < 0 {
				t.Errorf("%s: %q is not in the lab's configuration, or stands earlier there:\n%s", section, statement, strings.Join(lab[section], "\n"))
				continue
			}
			at += next + 1
		}
	}
	if len(page["router ospf"]) < 10 || len(page["interface"]) < 6 {
		t.Errorf("the example has only %v", page)
	}
}

// statements are the lines below each kind of section, without values; a line that is there twice counts once.
func statements(config string) map[string][]string {
	out, section := map[string][]string{}, ""
	for line := range strings.Lines(config) {
		line = strings.TrimRight(line, "\n")
		if !strings.HasPrefix(line, " ") {
			section = regexp.MustCompile(`^interface .*`).ReplaceAllString(line, "interface")
			continue
		}
		plain := regexp.MustCompile(`\b[0-9]+(\.[0-9]+){3}(/[0-9]+)?\b|\b[0-9]+\b`).ReplaceAllString(line, "N")
		if !slices.Contains(out[section], plain) {
			out[section] = append(out[section], plain)
		}
	}
	return out
}
