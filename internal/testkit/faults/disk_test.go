package faults

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestDiskIsFullAndEmpty(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "disk")
	d := NewDisk(t, folder, 4<<20)
	write := func() error { return os.WriteFile(filepath.Join(folder, "x"), make([]byte, 1<<20), 0o600) }
	if err := write(); err != nil {
		t.Fatal(err)
	}
	d.Fill(t)
	if err := os.WriteFile(filepath.Join(folder, "y"), make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a write to the full disk: %v", err)
	}
	d.Empty(t)
	if err := write(); err != nil {
		t.Error(err)
	}
}
