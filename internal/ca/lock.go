package ca

import (
	"fmt"

	"github.com/millrace/millrace/internal/filelock"
)

// lockFile is locked by who changes the folder.
const lockFile = "ca.lock"

// lock waits until nobody else changes the folder. Two that read the lists at once would each write their own, and one
// revocation would be lost.
func (a *Authority) lock() (unlock func(), err error) {
	l, err := filelock.Wait(a.at(lockFile))
	if err != nil {
		return nil, fmt.Errorf("the CA's folder: %w", err)
	}
	return func() { _ = l.Close() }, nil // closing releases it
}
