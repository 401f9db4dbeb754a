package examine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/doctor"
	"github.com/millrace/millrace/internal/testkit/pki"
)

// Before the first start the folder's own parent is looked at.
func TestAFolderThatIsNotThereYet(t *testing.T) {
	there := t.TempDir()
	want, got := Disk(there), Disk(filepath.Join(there, "data", "millrace"))
	if got.Area != "disk" || got.Level != want.Level || !strings.Contains(got.What, " are free") {
		t.Errorf("%+v, and of the folder above it %+v", got, want)
	}
	file := filepath.Join(there, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := Disk(filepath.Join(file, "data")); got.Level != doctor.Wrong {
		t.Errorf("below a file: %+v", got)
	}
}

func TestCertificateAndItsCA(t *testing.T) {
	ours, theirs := pki.New(t), pki.New(t)
	cert, key := ours.Issue(t, "millrace")
	for _, c := range []struct {
		name, cert, key, ca string
		want                string
	}{
		{"none is named", "", "", "", ""},
		{"one of its CA", cert, key, ours.CA, "of millrace"},
		{"one of another CA", cert, key, theirs.CA, "is not trusted here"},
		{"no file", cert + ".none", key, "", "no such file"},
		{"no CA", cert, key, ours.CA + ".none", "no such file"},
	} {
		var text []string
		for _, f := range Certificate(c.cert, c.key, c.ca) {
			text = append(text, f.What)
		}
		if got := strings.Join(text, "; "); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
