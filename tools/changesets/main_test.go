package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestThePageIsCurrent(t *testing.T) {
	var b strings.Builder
	write(&b)
	page, err := os.ReadFile("../../docs/reference/change-set-states.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(page), b.String()); diff != "" {
		t.Errorf("docs/reference/change-set-states.md is not the table; run make generate (-page +table):\n%s", diff)
	}
}
