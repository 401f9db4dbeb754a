// Package wholefile replaces files that a running component reads again by itself.
//
// In: a path and what is to be in the file. Out: the file has all of it, or what it had before. Next: tests of
// policies, passwords and certificates that change while they are in use.
//
// os.WriteFile empties a file before it fills it: who reads in between finds nothing, or half of it, and a test that
// counts what the component said of the file counts that, too.
package wholefile

import (
	"os"
	"path/filepath"
	"testing"
)

// Write gives a file other content in one step.
func Write(t testing.TB, path, content string) {
	t.Helper()
	f, err := os.CreateTemp(filepath.Dir(path), ".*.new")
	if err == nil {
		_, err = f.WriteString(content)
	}
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		t.Fatalf("write %s: %v", path, err)
	}
}
