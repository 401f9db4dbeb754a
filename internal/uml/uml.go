// Package uml makes User-Mode Linux start on processors with more register state than it supports.
//
// In: a folder. Out: what the environment of linux.uml needs. Next: the lab, and tests that need another kernel than
// the host's.
package uml

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
)

//go:generate clang -O2 -fPIC -shared -nostdlib -Wall -Werror -Wl,--build-id=none,-s -o xstate.so xstate.c

// xstate is a library that linux.uml loads before libc; the head of xstate.c explains why.
//
//go:embed xstate.so
var xstate []byte

// Environment puts the library into a folder and returns the variable by which linux.uml loads it. The folder has to
// stay until linux.uml runs, and its path has no space and no colon (ld.so(8), LD_PRELOAD).
func Environment(folder string) (string, error) {
	path := filepath.Join(folder, "uml-xstate.so")
	if err := os.WriteFile(path, xstate, 0o644); err != nil {
		return "", fmt.Errorf("library for linux.uml: %w", err)
	}
	return "LD_PRELOAD=" + path, nil
}
