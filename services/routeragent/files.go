package routeragent

import (
	"log/slog"
	"os"
	"sync"
)

// watched is a value that is read from files, again when one of them was replaced or written. What cannot be read does
// not replace what could: the agent goes on with the former, and says so once.
type watched[T any] struct {
	files []string
	load  func() (T, error)
	log   *slog.Logger

	mu    sync.Mutex
	seen  []os.FileInfo
	value T
}

func watch[T any](log *slog.Logger, load func() (T, error), files ...string) (*watched[T], error) {
	w := &watched[T]{files: files, load: load, log: log}
	w.seen = w.look()
	var err error
	w.value, err = load()
	return w, err
}

// get is the value of the files as they are now.
func (w *watched[T]) get() T {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.look()
	if same(w.seen, now) {
		return w.value
	}
	w.seen = now
	value, err := w.load()
	if err != nil {
		w.log.Warn("changed files cannot be used; what was read from them before stays in force", "files", w.files, "error", err)
		return w.value
	}
	w.log.Info("files read again", "files", w.files)
	w.value = value
	return value
}

func (w *watched[T]) look() []os.FileInfo {
	out := make([]os.FileInfo, len(w.files))
	for i, file := range w.files {
		out[i], _ = os.Stat(file) // one that is missing is a difference, too
	}
	return out
}

func same(a, b []os.FileInfo) bool {
	for i, x := range a {
		y := b[i]
		if (x == nil) != (y == nil) || x != nil && (!os.SameFile(x, y) || !x.ModTime().Equal(y.ModTime()) || x.Size() != y.Size()) {
			return false
		}
	}
	return true
}
