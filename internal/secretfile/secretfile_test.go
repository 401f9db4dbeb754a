package secretfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	for name, c := range map[string]struct{ content, want, says string }{
		"as it is":          {"hunter2 with spaces ", "hunter2 with spaces ", ""},
		"of an editor":      {"hunter2\n", "hunter2", ""},
		"of another editor": {"hunter2\r\n", "hunter2", ""},
		"the longest":       {strings.Repeat("x", maxOctets), strings.Repeat("x", maxOctets), ""},
		"empty":             {"\n", "", "is empty"},
		"two lines":         {"hunter2\nhunter3\n", "", "more than one line"},
		"octets of nothing": {"hunter2\x00", "", "more than one line"},
		"too long":          {strings.Repeat("x", maxOctets+1), "", "more than 4096 octets"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "password")
			if err := os.WriteFile(file, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := Read(file)
			if got != c.want || (err == nil) != (c.says == "") {
				t.Fatalf("got %q, %v", got, err)
			}
			if err != nil && (!strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), file) || strings.Contains(err.Error(), "hunter")) {
				t.Errorf("got %v, want an error that names the file, says %q and nothing that is in it", err, c.says)
			}
		})
	}
	missing := filepath.Join(t.TempDir(), "password")
	if _, err := Read(missing); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("a file that is missing: %v", err)
	}
}
