// Package filelock gives a folder to one process at a time, by a lock (flock(2)) of a file in it that ends with the
// process. The file stays: a lock of a file that was removed keeps nobody out.
//
// In: the file's name. Out: a lock, or who has it. Next: internal/state, internal/store, internal/ca,
// services/routeragent.
package filelock

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// ErrHeld means that another process has the lock.
var ErrHeld = errors.New("in use by another process")

// Lock is held until it is closed.
type Lock struct{ file *os.File }

// Try takes the lock, or returns ErrHeld with the number of the process that has it.
func Try(file string) (*Lock, error) { return take(file, unix.LOCK_EX|unix.LOCK_NB) }

// Wait takes the lock once nobody else has it.
func Wait(file string) (*Lock, error) { return take(file, unix.LOCK_EX) }

func take(name string, how int) (*Lock, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	for err = unix.EINTR; errors.Is(err, unix.EINTR); {
		err = unix.Flock(int(f.Fd()), how)
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		holder := make([]byte, 16)
		n, _ := f.Read(holder) // who has not written it yet
		return nil, errors.Join(fmt.Errorf("%w (process %s)", ErrHeld, holder[:n]), f.Close())
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteString(strconv.Itoa(os.Getpid()))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", name, err), f.Close())
	}
	return &Lock{f}, nil
}

// Close gives the lock to a process that waits for it. Once it is closed, Close does nothing.
func (l *Lock) Close() error {
	if err := l.file.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}
