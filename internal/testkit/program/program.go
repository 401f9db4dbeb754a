// Package program runs the millrace binary in tests of several processes.
//
// In: MILLRACE_BINARY, or the sources, from which it is built once per test binary.
// Out: processes that die with the test, and their logs.
// Next: e2e/processes, e2e/vpn.
package program

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/millrace/millrace/internal/store"
)

// Path is the binary under test.
var Path = os.Getenv("MILLRACE_BINARY")

// root is the repository, seen from a package two levels down, which is where tests of processes are.
var root = filepath.Join("..", "..")

// Main runs a package's tests with the binary; TestMain exits with what it returns.
func Main(m *testing.M) int {
	if Path != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "millrace-program-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	Path = filepath.Join(dir, "millrace")
	build := exec.Command("go", "build", "-o", Path, filepath.Join(root, "cmd", "millrace"))
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build millrace: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// OwnHost is a loopback address for this test process alone: other programs, and the kernel when it picks source ports,
// use 127.0.0.1, so every port is free here, also while the process that had it is down.
func OwnHost() string {
	pid := os.Getpid()
	return netip.AddrFrom4([4]byte{127, byte(16 + pid>>16%100), byte(pid >> 8), byte(pid)}).String()
}

// NeedLibrary skips where the flow store's engine was not fetched.
func NeedLibrary(t *testing.T) {
	t.Helper()
	path := os.Getenv(store.LibraryVariable)
	if path == "" {
		path = filepath.Join(root, ".cache", "chdb", "node_modules", "@chdb", "lib-linux-x64-gnu", "libchdb.so")
	}
	whole, err := filepath.Abs(path)
	if err == nil {
		_, err = os.Stat(whole)
	}
	if err != nil {
		t.Skipf("libchdb.so is missing (%v): run 'make setup', or set %s to its path", err, store.LibraryVariable)
	}
	t.Setenv(store.LibraryVariable, whole)
}
