// Package namespaces removes network namespaces that tests left which were killed before their end.
//
// In: the beginning of names, which has the number of the process behind it. Out: the same host without those of
// processes that are gone. Next: internal/testkit/vpnnet, services/routeragent.
package namespaces

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// named is where `ip netns` keeps them.
const named = "/run/netns"

// RemoveLeft removes every namespace whose name is prefix, the number of a process that is gone, and anything that does
// not go on with a digit. Other tests that run now keep theirs.
func RemoveLeft(t testing.TB, prefix string) {
	t.Helper()
	all, err := os.ReadDir(named)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range all {
		if process, ours := owner(e.Name(), prefix); !ours || runs(process) {
			continue
		}
		out, err := exec.Command("ip", "netns", "del", e.Name()).CombinedOutput()
		if _, gone := os.Lstat(filepath.Join(named, e.Name())); err != nil && gone == nil {
			t.Fatalf("remove the namespace %s of a test that is gone: %v: %s", e.Name(), err, out)
		}
	}
}

// owner is the number of the process that made a namespace.
func owner(name, prefix string) (process int, ours bool) {
	rest, ours := strings.CutPrefix(name, prefix)
	if !ours {
		return 0, false
	}
	if end := strings.IndexFunc(rest, func(r rune) bool { return !unicode.IsDigit(r) }); end >= 0 {
		rest = rest[:end]
	}
	process, err := strconv.Atoi(rest)
	return process, err == nil
}

func runs(process int) bool {
	_, err := os.Stat(fmt.Sprint("/proc/", process))
	return err == nil
}
