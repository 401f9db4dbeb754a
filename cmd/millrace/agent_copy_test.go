package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What runs goes on, and the next start is of the new program.
func TestACopyTakesTheProgramsPlace(t *testing.T) {
	dir := t.TempDir()
	to := filepath.Join(dir, "millrace")
	if err := os.WriteFile(to, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	running, err := os.Open(to)
	if err != nil {
		t.Fatal(err)
	}
	defer running.Close()
	cmd := root()
	cmd.SetArgs([]string{"agent", "copy", to})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.Stat(self)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.Stat(to)
	if err != nil || got.Size() != want.Size() || got.Mode().Perm() != 0o755 {
		t.Errorf("the copy: %v, %v; the program has %d octets", got, err, want.Size())
	}
	if was, err := running.Stat(); err != nil || was.Size() != 3 {
		t.Errorf("what ran before was changed: %v, %v", was, err)
	}
}

func TestACopyThatCannotBeMadeLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	to := filepath.Join(dir, "millrace")
	if err := os.Mkdir(to, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := root()
	cmd.SetArgs([]string{"agent", "copy", to})
	if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), to) {
		t.Errorf("a folder in its place: %v", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}
