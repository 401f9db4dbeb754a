package store

import (
	"os"
	"path/filepath"
	"testing"
)

// Somebody deletes the folder that the process was started in. What is stored elsewhere goes on.
func TestInsertsGoOnWithoutAWorkingDirectory(t *testing.T) {
	started, data := filepath.Join(t.TempDir(), "started"), t.TempDir()
	if err := os.Mkdir(started, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(started)
	db := open(t, data)
	if err := db.Exec(t.Context(), createT); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(started); err != nil {
		t.Fatal(err)
	}
	if err := db.Insert(t.Context(), batchOf(someRows())); err != nil {
		t.Fatal(err)
	}
	if got := len(readAll(t, db, "SELECT n, at, addr, name, id FROM t")); got != len(someRows()) {
		t.Errorf("%d of %d rows", got, len(someRows()))
	}
}
