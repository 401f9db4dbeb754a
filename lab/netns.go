package lab

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// inNamespaces runs f on a thread that has joined the given namespaces, which
// every program f starts inherits. The thread is thrown away afterwards: it is
// never handed back to other goroutines.
func inNamespaces(f func() error, paths ...string) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			// The main thread cannot end before the process does: it would hold
			// the namespaces open, and be what /proc/<pid> shows to others. While
			// this goroutine sits on it, the next one gets another.
			defer runtime.UnlockOSThread()
			result <- inNamespaces(f, paths...)
			return
		}
		// No Unlock: the runtime ends a thread whose goroutine returns locked.
		for _, path := range paths {
			if err := setns(path); err != nil {
				result <- err
				return
			}
		}
		result <- f()
	}()
	return <-result
}

func setns(path string) error {
	ns, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open namespace: %w", err)
	}
	defer ns.Close()
	if err := unix.Setns(int(ns.Fd()), 0); err != nil {
		return fmt.Errorf("enter namespace %s: %w", path, err)
	}
	return nil
}
