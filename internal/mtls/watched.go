package mtls

import (
	"crypto/sha256"
	"fmt"
	"os"
	"time"
)

// watched are files that are read only when they may have changed.
type watched struct {
	files []string
	seen  []os.FileInfo
	// read at, and what was read.
	at     time.Time
	digest [sha256.Size]byte
}

// settled is how old a file must have been when it was read for its time to show a later change: clocks of
// file systems are coarse.
const settled = 2 * time.Second

// read returns the files' contents if they may have changed, or always; changed reports whether they differ from those
// that were read last.
func (w *watched) read(always bool) (contents [][]byte, changed bool, err error) {
	now := make([]os.FileInfo, len(w.files))
	for i, file := range w.files {
		now[i], _ = os.Stat(file) // one that is missing is a difference, too
	}
	if !always && same(w.seen, now) && !recent(now, w.at) {
		return nil, false, nil
	}
	w.seen, w.at = now, time.Now()
	all := sha256.New()
	for _, file := range w.files {
		raw, err := os.ReadFile(file)
		if err != nil {
			w.digest = [sha256.Size]byte{}
			return nil, true, fmt.Errorf("read %w", err)
		}
		fmt.Fprintf(all, "%d:%s", len(raw), raw)
		contents = append(contents, raw)
	}
	digest := [sha256.Size]byte(all.Sum(nil))
	changed = always || digest != w.digest
	w.digest = digest
	return contents, changed, nil
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

// recent reports whether one of the files was written so shortly before it was read that a second write may
// have the same time stamp.
func recent(files []os.FileInfo, read time.Time) bool {
	for _, f := range files {
		if f != nil && read.Sub(f.ModTime()) < settled {
			return true
		}
	}
	return false
}
