package kernel

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// owned records what our objects replaced, so that it can be restored exactly. It
// is on disk before the kernel changes.
type owned struct {
	file string
	// Form of the file; 0 in one from before forms were counted.
	Form int `json:"form"`
	// Roots are the root qdiscs by interface as they were; Kind "" is the kernel's default.
	Roots map[string]tcObject `json:"roots"`
	// Clsact are interfaces whose clsact qdisc we made.
	Clsact map[string]bool `json:"clsact"`
}

func readOwned(file string) (*owned, error) {
	o := &owned{file: file, Roots: map[string]tcObject{}, Clsact: map[string]bool{}}
	raw, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return o, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read record of replaced qdiscs: %w", err)
	}
	if err := Decode(file, raw, ownedForm, o); err != nil {
		return nil, fmt.Errorf("read record of replaced qdiscs: %w", err)
	}
	return o, nil
}

// ownedForm is that which this agent writes; it reads all before it.
const ownedForm = 1

func (o *owned) save() error {
	o.Form = ownedForm
	raw, err := json.MarshalIndent(o, "", " ")
	if err != nil {
		return err
	}
	return WriteFile(o.file, raw)
}

// WriteFile replaces a file so that a crash leaves the old content or the new.
func WriteFile(name string, content []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(name), ".tmp-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	defer os.Remove(tmp.Name())
	if _, err = tmp.Write(content); err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := os.Rename(tmp.Name(), name); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	dir, err := os.Open(filepath.Dir(name))
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	defer dir.Close()
	return dir.Sync()
}
