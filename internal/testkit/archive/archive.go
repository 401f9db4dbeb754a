// Package archive reads what a program under test has packed.
//
// In: a .tar.gz. Out: its files by their names. Next: a test.
package archive

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"testing"
)

// Files are those of a .tar.gz, with their texts.
func Files(t *testing.T, from io.Reader) map[string]string {
	t.Helper()
	z, err := gzip.NewReader(from)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all[h.Name] = string(text)
	}
}
