package filelock

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestOneHasIt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lock")
	first, err := Try(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Try(file); !errors.Is(err, ErrHeld) || !strings.Contains(err.Error(), "process "+strconv.Itoa(os.Getpid())) {
		t.Errorf("the second: %v, want %v with this process's number", err, ErrHeld)
	}
	waited := make(chan error)
	go func() {
		l, err := Wait(file)
		if err == nil {
			err = l.Close()
		}
		waited <- err
	}()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
	if err := <-waited; err != nil {
		t.Errorf("who waited: %v", err)
	}
	if l, err := Try(file); err != nil {
		t.Errorf("once nobody has it: %v", err)
	} else if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func TestNoFolder(t *testing.T) {
	if _, err := Try(filepath.Join(t.TempDir(), "none", "lock")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that the folder does not exist", err)
	}
}
