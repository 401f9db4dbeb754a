package flow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/millrace/millrace/collectors/flow/exporter"
)

// saveEvery is how old what a collector that dies has saved may be.
const saveEvery = time.Minute

// restoreState takes over what exporters told before the restart. A file that cannot be read is moved aside: without it
// templates and rates come again, later.
func (c *Component) restoreState(now time.Time) {
	if c.cfg.State == "" {
		return
	}
	raw, err := os.ReadFile(c.cfg.State)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var state exporter.State
	if err == nil {
		err = json.Unmarshal(raw, &state)
	}
	if err == nil && state.Form > exporter.StateForm {
		err = fmt.Errorf("a newer collector has written it: it has form %d, and this one knows forms up to %d", state.Form, exporter.StateForm)
	}
	if err != nil {
		aside := c.cfg.State + ".unreadable"
		c.deps.Log.Error("templates and sampling rates of before the restart cannot be read; exporters will send them again", "file", c.cfg.State,
			"moved to", aside, "error", errors.Join(err, os.Rename(c.cfg.State, aside)))
		return
	}
	if n := c.table.Restore(state, now); n > 0 {
		c.deps.Log.Info("templates and sampling rates of before the restart are taken over", "sessions", n)
	}
}

// saveState writes the state, if it has changed.
func (c *Component) saveState() {
	if c.cfg.State == "" {
		return
	}
	raw, err := json.Marshal(c.table.State())
	if err == nil && !bytes.Equal(raw, c.saved) {
		err = replaceFile(c.cfg.State, raw)
	}
	if err != nil {
		c.deps.Log.Warn("templates and sampling rates are not kept over a restart", "file", c.cfg.State, "error", err)
		return
	}
	c.saved = raw
}

// replaceFile leaves the old content or the new one, whenever the process or the host ends.
func replaceFile(name string, content []byte) error {
	folder := filepath.Dir(name)
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return err
	}
	f, err := os.CreateTemp(folder, filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", name, err), os.Remove(f.Name()))
	}
	return nil
}
