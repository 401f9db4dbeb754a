package ca

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile is locked by who changes the folder. It stays, since a lock of a file that was removed keeps nobody out.
const lockFile = "ca.lock"

// lock waits until nobody else changes the folder. Two that read the lists at once would each write their own, and one
// revocation would be lost.
func (a *Authority) lock() (unlock func(), err error) {
	f, err := os.OpenFile(a.at(lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the CA's folder: %w", err)
	}
	for err = unix.EINTR; errors.Is(err, unix.EINTR); {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock the CA's folder: %w", err), f.Close())
	}
	return func() { _ = f.Close() }, nil // closing releases it
}
