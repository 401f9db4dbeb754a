// Package results keeps what experiments measured in files, so that a run can
// be judged again by the expectations of today without being repeated.
//
// In: results of lab/experiments. Out: JSON files. Next: cmd/millrace, which
// prints them; scenario, whose measured.json files are quoted by the product.
package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Keep replaces a result: who reads the file, also after a crash, finds the old result or the new one whole.
func Keep(file string, result any) error {
	raw, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the result for %s: %w", file, err)
	}
	if err := replace(file, append(raw, '\n')); err != nil {
		return fmt.Errorf("keep the result: %w", err)
	}
	return nil
}

// replace renames a temporary file of the same folder, which is atomic.
func replace(file string, content []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(content)
	err = errors.Join(err, tmp.Chmod(0o644), tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}

// Read is what a file keeps; nil where there is no file or an empty one.
func Read[Result any](file string) (*Result, error) {
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(raw) == 0 {
		return nil, nil
	}
	var r Result
	if err == nil {
		err = json.Unmarshal(raw, &r)
	}
	if err != nil {
		return nil, fmt.Errorf("read the result in %s: %w", file, err)
	}
	return &r, nil
}

// Exists reports whether a result is kept, or meant to be: an empty file stands for one to come.
func Exists(file string) (bool, error) {
	_, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
