package store

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// standSomewhere moves a process whose working directory was deleted to the root: the engine calls
// getcwd(2) before it reads any file, inserted blocks included. Paths relative to that directory are lost;
// a data directory that was deleted is not created again elsewhere.
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
