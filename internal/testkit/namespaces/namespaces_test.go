package namespaces

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestOwner(t *testing.T) {
	for name, want := range map[string]int{"mpe12-1left": 12, "mpe12": 12, "mpe": -1, "mpex12": -1, "lab-er": -1, "xmpe12": -1} {
		process, ours := owner(name, "mpe")
		if !ours {
			process = -1
		}
		if process != want {
			t.Errorf("%s: %d, want %d", name, process, want)
		}
	}
}

func TestOnlyNamespacesOfProcessesThatAreGoneAreRemoved(t *testing.T) {
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	left, mine := fmt.Sprintf("left%d-1", ended.Process.Pid), fmt.Sprintf("left%d-1", os.Getpid())
	for _, name := range []string{left, mine} {
		if out, err := exec.Command("ip", "netns", "add", name).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", name).Run() })
	}
	RemoveLeft(t, "left")
	for name, want := range map[string]bool{left: false, mine: true} {
		if _, err := os.Lstat(filepath.Join(named, name)); (err == nil) != want {
			t.Errorf("%s is there: %t, want %t", name, err == nil, want)
		}
	}
}
