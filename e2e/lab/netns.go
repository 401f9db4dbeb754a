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
		// No Unlock: the runtime ends a thread whose goroutine returns locked.
		runtime.LockOSThread()
		result <- func() error {
			for _, path := range paths {
				if err := setns(path); err != nil {
					return err
				}
			}
			return f()
		}()
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
