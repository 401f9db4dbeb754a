package store

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// library is chDB's C interface (chdb.h), loaded on first use. The published Go
// binding, chdb-go, loads it when the program starts and panics where it is
// missing; the same binary is also the router agent and the operator's command
// line, which run without the engine, so the twelve functions are bound here.
type library struct {
	setSignalHandlers func(enabled int32)
	connect           func(argc int32, argv []*byte) unsafe.Pointer
	closeConn         func(conn unsafe.Pointer)
	query             func(conn unsafe.Pointer, sql *byte, sqlLen uint, format *byte, formatLen uint) unsafe.Pointer
	streamQuery       func(conn unsafe.Pointer, sql *byte, sqlLen uint, format *byte, formatLen uint) unsafe.Pointer
	streamFetch       func(conn, stream unsafe.Pointer) unsafe.Pointer
	streamCancel      func(conn, stream unsafe.Pointer)
	destroy           func(result unsafe.Pointer)
	buffer            func(result unsafe.Pointer) *byte
	length            func(result unsafe.Pointer) uint
	errorText         func(result unsafe.Pointer) string
}

var loadLibrary = sync.OnceValues(func() (*library, error) {
	path, err := FindLibrary()
	if err != nil {
		return nil, err
	}
	return openLibrary(path)
})

// LibraryVariable names the environment variable that points at libchdb.so.
const LibraryVariable = "MILLRACE_LIBCHDB"

const libraryName = "libchdb.so"

// FindLibrary looks where an operator says, where a package puts it, where
// `make setup` puts it in a checkout, and in the system.
func FindLibrary() (string, error) {
	if path := os.Getenv(LibraryVariable); path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("%s: %w", LibraryVariable, err)
		}
		return path, nil
	}
	tried := candidates()
	for _, path := range tried {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("the ClickHouse engine library %s was not found in %q: run `make setup`, or set %s to its path, "+
		"or name a ClickHouse server in the configuration", libraryName, tried, LibraryVariable)
}

func candidates() []string {
	var paths []string
	if exe, err := os.Executable(); err == nil {
		paths = append(paths, filepath.Join(filepath.Dir(exe), "..", "lib", libraryName))
		paths = append(paths, upwards(filepath.Dir(exe))...)
	}
	if dir, err := os.Getwd(); err == nil {
		paths = append(paths, upwards(dir)...)
	}
	return append(paths, "/usr/local/lib/"+libraryName, "/usr/lib/"+libraryName)
}

// upwards finds the checkout that dir is in, by its go.mod.
func upwards(dir string) []string {
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return []string{filepath.Join(dir, ".cache", "chdb", "node_modules", "@chdb", "lib-linux-x64-gnu", libraryName)}
		}
	}
	return nil
}

// handlers is held while the engine may have changed signal handlers: who looks meanwhile would keep the engine's.
var handlers sync.Mutex

// keepSignals runs f and puts back every signal handler it changed. The engine
// resets SIGSEGV and others when it starts, but Go's handlers are what turns a
// nil pointer into a panic that can be recovered from.
func keepSignals(f func()) {
	handlers.Lock()
	defer handlers.Unlock()
	const signals, maskSize = 64, 8
	var saved [signals + 1][4]uint64 // struct sigaction of the kernel: 32 bytes
	for s := 1; s <= signals; s++ {
		sigaction(s, nil, &saved[s], maskSize)
	}
	f()
	for s := 1; s <= signals; s++ {
		sigaction(s, &saved[s], nil, maskSize)
	}
}

// sigaction ignores errors: SIGKILL, SIGSTOP cannot be set, and need not be.
func sigaction(signal int, set, old *[4]uint64, maskSize uintptr) {
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(signal), //nolint:errcheck // see above
		uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(old)), maskSize, 0, 0)
}
