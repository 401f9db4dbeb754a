package scenario

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

//go:embed files
var embedded embed.FS

// Folder is where the shipped scenarios are in a checkout, in which `lab run --all` keeps new figures.
const Folder = "scenario/files"

// shipped has one folder for each shipped scenario.
func shipped() fs.FS {
	sub, err := fs.Sub(embedded, "files")
	if err != nil {
		panic(err) // the name stands five lines above
	}
	return sub
}

// Names lists the shipped scenarios in order.
func Names() []string {
	entries, _ := fs.ReadDir(shipped(), ".") // an embedded folder can be read
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

// Load reads a scenario from a file, from a folder that holds scenario.yaml, or by the name of a shipped one. A file
// or folder of that name comes first.
func Load(name string) (*Scenario, error) {
	file := name
	info, err := os.Stat(file)
	if err == nil && info.IsDir() {
		file = filepath.Join(name, "scenario.yaml")
		_, err = os.Stat(file)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && isShipped(name):
		return Shipped(name)
	case err != nil:
		return nil, fmt.Errorf("read scenario: %w; give a file, a folder with scenario.yaml, or one of the shipped: %v", err, Names())
	}
	return load(os.DirFS(filepath.Dir(file)), filepath.Base(file), file)
}

// Shipped reads a shipped scenario; it looks at no file of this machine.
func Shipped(name string) (*Scenario, error) {
	if !isShipped(name) {
		return nil, fmt.Errorf("no scenario %q is shipped; there are %v", name, Names())
	}
	folder, err := fs.Sub(shipped(), name)
	if err != nil {
		return nil, fmt.Errorf("open scenario %s: %w", name, err)
	}
	return load(folder, "scenario.yaml", path.Join(Folder, name, "scenario.yaml"))
}

func isShipped(name string) bool {
	if path.Base(name) != name {
		return false
	}
	_, err := fs.Stat(shipped(), path.Join(name, "scenario.yaml"))
	return err == nil
}

func load(folder fs.FS, file, shown string) (*Scenario, error) {
	raw, err := fs.ReadFile(folder, file)
	if err != nil {
		return nil, fmt.Errorf("read scenario: %w", err)
	}
	s, err := Parse(shown, raw)
	if s != nil {
		s.Files = folder
	}
	return s, err
}
