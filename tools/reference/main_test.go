package main

import (
	"bytes"
	"os"
	"testing"
)

// TestPagesAreCurrent: a setting that is new has a row, and a comment that is changed is on the page.
func TestPagesAreCurrent(t *testing.T) {
	t.Chdir("../..")
	for file, write := range map[string]string{"configuration.md": "", "inventory.md": "inventory"} {
		var want bytes.Buffer
		if err := pages[write](&want); err != nil {
			t.Fatal(err)
		}
		is, err := os.ReadFile("docs/reference/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(is, want.Bytes()) {
			t.Errorf("docs/reference/%s is not what tools/reference writes; run make generate", file)
		}
	}
}
