package houserules

import (
	"strings"
	"testing"
)

// TestHouse holds this repository to its rules.
func TestHouse(t *testing.T) {
	tree, err := Load("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range Rules() {
		t.Run(r.Name, func(t *testing.T) {
			if bad := r.Check(tree); len(bad) > 0 {
				t.Errorf("why this rule: %s\n%d violations:\n  %s", r.Why, len(bad), strings.Join(bad, "\n  "))
			}
		})
	}
}
