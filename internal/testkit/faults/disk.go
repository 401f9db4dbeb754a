package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Disk is a file system that is small, and can be filled.
type Disk struct{ folder string }

// NewDisk mounts one on a folder until the test ends. The process must be in a network and mount namespace
// that no other process uses (OwnNetwork).
func NewDisk(t testing.TB, folder string, octets int64) *Disk {
	t.Helper()
	if os.Getenv(within) == "" {
		t.Fatal("a file system is mounted in a process of its own only")
	}
	if err := errors.Join(os.MkdirAll(folder, 0o700), syscall.Mount("tmpfs", folder, "tmpfs", 0, fmt.Sprint("size=", octets))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(folder, syscall.MNT_DETACH) })
	return &Disk{folder}
}

// Fill takes all room that is left.
func (d *Disk) Fill(t testing.TB) {
	t.Helper()
	file, err := os.Create(d.filler())
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for piece := make([]byte, 1<<20); len(piece) > 0; {
		n, err := file.Write(piece)
		if errors.Is(err, syscall.ENOSPC) && n == 0 {
			piece = piece[:len(piece)/2]
		} else if err != nil && !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
}

// Empty gives the room back.
func (d *Disk) Empty(t testing.TB) {
	t.Helper()
	if err := os.Remove(d.filler()); err != nil {
		t.Fatal(err)
	}
}

func (d *Disk) filler() string { return filepath.Join(d.folder, "filler") }
