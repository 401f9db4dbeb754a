package document

import (
	"strings"
	"testing"
)

func TestLSPsOfARule(t *testing.T) {
	const before = `policy: p
queues:
  - {name: be, id: 0, weight: 5, buffer: 5, priority: high, default: true}
  - {name: bulk, id: 1, weight: 95, buffer: 95, priority: high}
redirect:
  - queue: bulk
    between: [{source: 192.0.2.0/24, destination: 198.51.100.0/24}]
`
	for rule, want := range map[string]string{
		"    lsps: [{via: [a, b]}, {via: [a, c, b], weight: 255}]\n":            "",
		"    lsp: {paths: 3, min_bandwidth: 1Gbit/s}\n":                         "",
		"    lsp: {paths: 3}\n":                                                 "add min_bandwidth:",
		"    lsp: {paths: 17, min_bandwidth: 1Gbit/s}\n":                        "17 LSPs are more than",
		"    lsp: {}\n    lsps: [{via: [a, b]}]\n":                              "the rule has lsp: and lsps:",
		"    lsps: [{via: [a]}]\n":                                              "a path has two ends",
		"    lsps: [{via: [a, b, a]}]\n":                                        "passes a twice",
		"    lsps: [{via: [a, b]}, {via: [a, b], weight: 2}]\n":                 "the path is there twice",
		"    lsps: [{via: [a, b]}, {via: [b, a]}]\n":                            "goes from b to a",
		"    lsps: [{weight: 2}]\n":                                             "via is missing",
		"    lsps: [" + strings.Repeat("{via: [a, b]}, ", 16) + "{via: [a]}]\n": "17 LSPs are more than",
	} {
		_, problems := Parse("p.yaml", before+rule)
		err := Join(problems)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", strings.TrimSpace(rule), err, want)
		}
	}
}
