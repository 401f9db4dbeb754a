package kubenode

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// cgroups is how the names of the nodes' control groups begin; the number of the test's process follows.
const cgroups = "millrace-k8s-"

// hierarchies are the host's, of version 1: there is one folder for each controller.
const hierarchies = "/sys/fs/cgroup"

// makeCgroups makes the groups below which kubelet makes those of pods.
func (n *Node) makeCgroups(t *testing.T) {
	t.Helper()
	all, err := os.ReadDir(hierarchies)
	must(t, err)
	for _, h := range all {
		if h.IsDir() && h.Name() != "unified" {
			must(t, os.MkdirAll(filepath.Join(hierarchies, h.Name(), n.cgroup), 0o755))
		}
	}
}

// removeCgroups fails while a process is in one of the groups.
func (n *Node) removeCgroups() error { return removeGroups(n.cgroup) }

func removeGroups(name string) error {
	found, err := filepath.Glob(filepath.Join(hierarchies, "*", name))
	if err != nil {
		return err
	}
	var folders []string
	for _, top := range found {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				folders = append(folders, path)
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	// A folder's name is the beginning of those below it.
	slices.Sort(folders)
	slices.Reverse(folders)
	for _, f := range folders {
		if err := os.Remove(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// removeLeft removes the groups of tests that were killed.
func removeLeft(t *testing.T) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(hierarchies, "*", cgroups+"*"))
	must(t, err)
	for _, f := range found {
		number, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(f), cgroups), "-") // what follows is a further node's
		pid, err := strconv.Atoi(number)
		if err != nil {
			continue
		}
		if _, err := os.Stat("/proc/" + strconv.Itoa(pid)); errors.Is(err, fs.ErrNotExist) {
			must(t, removeGroups(filepath.Base(f)))
		}
	}
}
