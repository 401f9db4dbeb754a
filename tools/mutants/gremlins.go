package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// flags enable every mutator but invert-negatives, which makes the same change as arithmetic-base. gremlins' own
// time-out is put out of reach, because on a busy machine it would count as killed what is only slow: the limits in
// shim/go end what never ends.
var flags = []string{
	"--timeout-coefficient", "1000", "--invert-negatives=false",
	"--invert-assignments", "--invert-bitwise", "--invert-bwassign", "--invert-logical", "--invert-loopctrl", "--remove-self-assignments",
}

// mutate runs gremlins over one package of the tree.
func mutate(root, tree string, t target, workers int) ([]Mutant, error) {
	real, err := exec.LookPath("go")
	if err != nil {
		return nil, err
	}
	report := filepath.Join(tree, "mutants.json")
	args := append([]string{"unleash", "./" + t.folder, "--output", report, "--workers", strconv.Itoa(workers)}, flags...)
	cmd := exec.Command(filepath.Join(root, ".cache/gremlins/gremlins"), args...)
	cmd.Dir = tree
	// Without -vet=off a mutant that vet finds odd would count as killed by a test; -trimpath shares the build cache
	// between copies of the tree.
	goflags := "-trimpath -vet=off"
	if t.skip != "" {
		goflags += " -skip=" + t.skip
	}
	cmd.Env = append(os.Environ(), "MUTANTS_GO="+real, "GOFLAGS="+goflags,
		"PATH="+filepath.Join(root, "tools/mutants/shim")+string(os.PathListSeparator)+os.Getenv("PATH"))
	progress, err := create(root, t, ".log")
	if err != nil {
		return nil, err
	}
	defer progress.Close()
	cmd.Stdout, cmd.Stderr = progress, progress
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: gremlins: %w; see %s", t.folder, err, progress.Name())
	}
	raw, err := os.ReadFile(report)
	if err != nil {
		return nil, err
	}
	return parse(raw, t.folder, func(file string) ([]byte, error) { return os.ReadFile(filepath.Join(tree, file)) })
}

// copyTree copies what git knows or would add: gremlins copies the whole folder it works in, and downloads and
// toolchains in .cache are gigabytes.
func copyTree(root string) (string, error) {
	list, err := exec.Command("git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return "", fmt.Errorf("git ls-files: %w", err)
	}
	tree, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return "", err
	}
	for _, file := range strings.Split(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		body, err := os.ReadFile(filepath.Join(root, file))
		if os.IsNotExist(err) {
			continue // deleted, not yet committed
		}
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(tree, file)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(tree, file), body, 0o644)
		}
		if err != nil {
			return "", err
		}
	}
	return tree, nil
}
