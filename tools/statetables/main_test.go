package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestThePagesAreCurrent(t *testing.T) {
	for path, write := range pages {
		var b strings.Builder
		write(&b)
		page, err := os.ReadFile("../../" + path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(page), b.String()); diff != "" {
			t.Errorf("%s is not the table; run make generate (-page +table):\n%s", path, diff)
		}
	}
}
