package main

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestThePagesAreCurrent(t *testing.T) {
	for path, print := range map[string]func(io.Writer){
		"docs/reference/change-set-states.md": write,
		"docs/reference/circuit-states.md":    writeCircuits,
		"docs/reference/nsi-states.md":        writeNSI,
	} {
		var b strings.Builder
		print(&b)
		page, err := os.ReadFile("../../" + path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(page), b.String()); diff != "" {
			t.Errorf("%s is not the table; run make generate (-page +table):\n%s", path, diff)
		}
	}
}
