// Package checkout finds the repository that a test runs in. `go test` starts each test in the folder of its package,
// somewhere below the module's root; paths of sources are of no use for it, since -trimpath leaves their folders out.
//
// In: a test. Out: the folder of go.mod. Next: internal/testkit/kafka, oidc, thirdparty and yangtest, and
// services/policy's golden cases.
package checkout

import (
	"os"
	"path/filepath"
	"testing"
)

// Root is the folder of the module's go.mod.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	t.Fatal("no go.mod above the test's folder")
	return ""
}
