package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestRootWritesNothingAmongAnothersData: neither a backup, whose stores write when they are opened, nor a restore, nor
// the control plane started by hand.
func TestRootWritesNothingAmongAnothersData(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root is missing: only root can give a folder to another user")
	}
	m := newMachine(t, "")
	if err := os.MkdirAll(m.cfg.DataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(m.cfg.DataDir, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "backup")
	for _, args := range [][]string{{"backup", folder}, {"restore", folder}, {"up"}} {
		m.refused("is 12345's, who could not read what root writes there: runuser -u 12345 -- ", args...)
	}
	if left, err := os.ReadDir(m.cfg.DataDir); err != nil || len(left) > 0 {
		t.Errorf("root left %v, %v", left, err)
	}
}
