package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/millrace/millrace/internal/scrub"
)

// TestABundleOverAnotherFileIsItsOwnersAlone: a file that is there keeps its mode when it is opened to be written.
func TestABundleOverAnotherFileIsItsOwnersAlone(t *testing.T) {
	output := filepath.Join(t.TempDir(), "bundle.tar.gz")
	if err := os.WriteFile(output, []byte("of last week"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(output, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := writeBundle(scrub.NewBundle(nil), output); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(output); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the bundle is %v (%v), want it readable for its owner only", info.Mode(), err)
	}
	if err := writeBundle(scrub.NewBundle(nil), os.DevNull); err != nil {
		t.Errorf("what is no file: %v", err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().Perm() != 0o666 {
		t.Errorf("%s is %v (%v)", os.DevNull, info.Mode(), err)
	}
}
