package results

import (
	"io"
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

func TestAReaderSeesTheOldResultOrTheNewOneWhole(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "one.json")
	if err := Keep(file, measured{7}); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := Keep(file, measured{8}); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(reader); err != nil || string(got) != string(before) {
		t.Errorf("who had opened the file before read %q, %v; want %q", got, err, before)
	}
	if got, err := Read[measured](file); err != nil || got.Value != 8 {
		t.Errorf("got %v, %v", got, err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("mode of the file: %v, %v", info.Mode(), err)
	}
	if all, err := os.ReadDir(folder); err != nil || len(all) != 1 {
		t.Errorf("the folder holds %v, %v; want the result alone", all, err)
	}
}

func TestAResultThatCannotBeKeptLeavesNothing(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "one.json")
	if err := os.Mkdir(file, 0o755); err != nil { // a folder cannot be replaced by a file
		t.Fatal(err)
	}
	if err := Keep(file, measured{7}); err == nil {
		t.Error("a result took the place of a folder")
	}
	if all, err := os.ReadDir(folder); err != nil || len(all) != 1 {
		t.Errorf("the folder holds %v, %v; want no temporary file", all, err)
	}
}
