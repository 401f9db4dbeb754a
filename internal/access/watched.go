package access

import (
	"log/slog"
	"os"
	"sync"
	"time"
)

// settled is for how long a file that is written in place must not change before it is read: half of a list of users is
// a list of users. A file that was replaced whole, by a rename, is read at once.
const settled = 2 * time.Second

// Watched is a value that is read from files, again when one of them was replaced or written. What cannot be read does
// not replace what could: the agent goes on with the former, and says so once.
type Watched[T any] struct {
	files   []string
	load    func() (T, error)
	log     *slog.Logger
	refused func(bool)
	now     func() time.Time

	mu      sync.Mutex
	seen    []os.FileInfo // when the value was read
	pending []os.FileInfo // of files that are being written, perhaps
	since   time.Time     // pending was seen
	value   T
}

// Watch reads the files. It calls refused, if that is not nil, with whether changed ones cannot be used.
func Watch[T any](log *slog.Logger, refused func(bool), load func() (T, error), files ...string) (*Watched[T], error) {
	if refused == nil {
		refused = func(bool) {}
	}
	w := &Watched[T]{files: files, load: load, log: log, refused: refused, now: time.Now}
	w.seen = w.look()
	var err error
	w.value, err = load()
	return w, err
}

// Get is the value of the files as they are now.
func (w *Watched[T]) Get() T {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.look()
	if same(w.seen, now) {
		w.pending = nil
		return w.value
	}
	if !replaced(w.seen, now) && !w.waited(now) {
		return w.value
	}
	w.seen, w.pending = now, nil
	value, err := w.load()
	w.refused(err != nil)
	if err != nil {
		w.log.Warn("changed files cannot be used; what was read from them before stays in force", "files", w.files, "error", err)
		return w.value
	}
	w.log.Info("files read again", "files", w.files)
	w.value = value
	return value
}

// waited is true once the files have looked like this for long enough.
func (w *Watched[T]) waited(now []os.FileInfo) bool {
	if w.pending == nil || !same(w.pending, now) {
		w.pending, w.since = now, w.now()
	}
	return w.now().Sub(w.since) >= settled
}

func (w *Watched[T]) look() []os.FileInfo {
	out := make([]os.FileInfo, len(w.files))
	for i, file := range w.files {
		out[i], _ = os.Stat(file) // one that is missing is a difference, too
	}
	return out
}

// replaced is true if whatever differs is another file under the same name.
func replaced(before, now []os.FileInfo) bool {
	for i, x := range before {
		y := now[i]
		if !same([]os.FileInfo{x}, []os.FileInfo{y}) && (x == nil || y == nil || os.SameFile(x, y)) {
			return false
		}
	}
	return true
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
