package store

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// standSomewhere moves a process whose working directory was deleted to the root: the engine asks where it stands
// before it reads any file, the blocks that are inserted too. What was named relative to that directory is gone; a data
// directory that was is not made anew elsewhere.
func standSomewhere(data string) error {
	_, err := unix.Getwd()
	if !errors.Is(err, unix.ENOENT) || !filepath.IsAbs(data) {
		return nil
	}
	if err := unix.Chdir("/"); err != nil {
		return fmt.Errorf("leave the working directory, which is gone: %w", err)
	}
	slog.Warn("the working directory is gone; going on in /, where files with relative names are not found")
	return nil
}
