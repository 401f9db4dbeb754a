package results

import (
	"os"
	"path/filepath"
	"testing"
)

type measured struct{ Value int }

func TestWhatIsKeptIsRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "one.json")
	if err := Keep(file, measured{7}); err != nil {
		t.Fatal(err)
	}
	got, err := Read[measured](file)
	if err != nil || got == nil || got.Value != 7 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestAFileWithoutAResult(t *testing.T) {
	folder := t.TempDir()
	empty, broken := filepath.Join(folder, "empty.json"), filepath.Join(folder, "broken.json")
	for file, text := range map[string]string{empty: "", broken: "{"} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		file         string
		exists, fail bool
	}{{filepath.Join(folder, "none.json"), false, false}, {empty, true, false}, {broken, true, true}} {
		if there, err := Exists(tc.file); err != nil || there != tc.exists {
			t.Errorf("%s exists: %t, %v", tc.file, there, err)
		}
		if got, err := Read[measured](tc.file); got != nil || (err != nil) != tc.fail {
			t.Errorf("%s: %v, %v", tc.file, got, err)
		}
	}
}
