package secretfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// written is a file of that content and mode, whatever the umask.
func written(t *testing.T, content string, mode fs.FileMode) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, mode); err != nil {
		t.Fatal(err)
	}
	return file
}

// saying fails unless an error names the file, says what is wrong, and shows nothing that is in it.
func saying(t *testing.T, err error, file, says string) {
	t.Helper()
	if err != nil && (says == "" || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), file) || strings.Contains(err.Error(), "hunter")) {
		t.Errorf("got %v, want an error that names the file, says %q and nothing that is in it", err, says)
	}
}

func TestRead(t *testing.T) {
	for name, c := range map[string]struct{ content, want, says string }{
		"as it is":                 {"hunter2 with spaces ", "hunter2 with spaces ", ""},
		"of an editor":             {"hunter2\n", "hunter2", ""},
		"of another editor":        {"hunter2\r\n", "hunter2", ""},
		"the longest":              {strings.Repeat("x", maxLine), strings.Repeat("x", maxLine), ""},
		"empty":                    {"\n", "", "is empty"},
		"nothing at all":           {"", "", "is empty"},
		"two lines":                {"hunter2\nhunter3\n", "", "more than one line"},
		"a line, and an empty one": {"hunter2\n\n", "", "more than one line"},
		"octets of nothing":        {"hunter2\x00", "", "more than one line"},
		"too long":                 {strings.Repeat("x", maxLine+1), "", "more than 4096 octets"},
	} {
		t.Run(name, func(t *testing.T) {
			file := written(t, c.content, 0o600)
			got, err := Read(file)
			if got != c.want || (err == nil) != (c.says == "") {
				t.Fatalf("got %q, %v", got, err)
			}
			saying(t, err, file, c.says)
		})
	}
	missing := filepath.Join(t.TempDir(), "password")
	if _, err := Read(missing); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("a file that is missing: %v", err)
	}
}

// A group may read what a cluster mounts; nobody else may read or write a secret.
func TestModes(t *testing.T) {
	for mode, may := range map[fs.FileMode]struct{ read, text bool }{
		0o600: {true, true}, 0o400: {true, true}, 0o440: {true, false}, 0o640: {true, false},
		0o660: {}, 0o644: {}, 0o604: {}, 0o602: {}, 0o601: {}, 0o610: {},
	} {
		file := written(t, "hunter2\n", mode)
		line, err := Read(file)
		if (err == nil) != may.read || may.read != (line == "hunter2") {
			t.Errorf("a line of mode %#o: %q, %v", mode, line, err)
		}
		saying(t, err, file, "is open to others")
		text, err := Text(file)
		if (err == nil) != may.text || may.text != (string(text) == "hunter2\n") {
			t.Errorf("a text of mode %#o: %q, %v", mode, text, err)
		}
		saying(t, err, file, "is open to others")
	}
}

func TestATextIsNoDisk(t *testing.T) {
	if got, err := Text(written(t, strings.Repeat("x", maxText), 0o600)); err != nil || len(got) != maxText {
		t.Errorf("the longest: %d, %v", len(got), err)
	}
	file := written(t, strings.Repeat("x", maxText+1), 0o600)
	_, err := Text(file)
	if err == nil {
		t.Error("one that is too long is read")
	}
	saying(t, err, file, "more than 1048576 octets")
}
