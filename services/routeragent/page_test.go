package routeragent_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestTheChecksAreOnThePage(t *testing.T) {
	raw, err := os.ReadFile("../../docs/reference/gnmi.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		line := fmt.Sprintf("| %d | %s | %s |", c.number, c.sentence, c.section)
		if !strings.Contains(string(raw), line) {
			t.Errorf("docs/reference/gnmi.md lacks this line:\n%s", line)
		}
	}
}
