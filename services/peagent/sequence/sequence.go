// Package sequence numbers what an agent sends, so that a receiver can refuse what it has seen.
//
// Numbers are times of the wall clock, so that they grow over restarts. A wall clock can be set back, by an hour or by
// years; so numbers also grow from the last one, and from one that a file promises to be higher than all before it.
//
// In: the wall clock, a file. Out: numbers that grow. Next: services/peagent puts them into peer updates.
package sequence

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// promise is how far ahead of its numbers a file is kept, in nanoseconds.
const promise = uint64(time.Hour)

// Numbers gives numbers that grow. The file is written beside its user: a slow disk holds up nobody.
type Numbers struct {
	write  func(promised uint64) error
	failed func(error)

	mu       sync.Mutex
	last     uint64
	promised uint64
	writing  bool
}

// Open continues above what an earlier process promised in file, which may be empty: then numbers grow in this process
// and with the clock. failed is told when the file cannot be written.
func Open(file string, now time.Time, failed func(error)) (*Numbers, error) {
	n := &Numbers{write: func(p uint64) error { return save(file, p) }, failed: failed}
	if file == "" {
		n.write = func(uint64) error { return nil }
	} else if err := n.read(file); err != nil {
		return nil, err
	}
	n.promised = After(now, n.last) + promise
	return n, n.write(n.promised)
}

func (n *Numbers) read(file string) error {
	raw, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("read the last sequence number: %w", err)
	case len(raw) != 8:
		return fmt.Errorf("read the last sequence number: %s has %d bytes and not 8; remove it if the clock is right", file, len(raw))
	}
	n.last = binary.BigEndian.Uint64(raw)
	return nil
}

// Next is higher than all before it.
func (n *Numbers) Next(now time.Time) uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last = After(now, n.last)
	if !n.writing && n.last+promise/2 > n.promised {
		n.writing = true
		go n.extend()
	}
	return n.last
}

// extend writes a promise, and another where numbers have caught up with it while the disk was slow.
func (n *Numbers) extend() {
	for {
		n.mu.Lock()
		to := n.last + promise
		n.mu.Unlock()
		err := n.write(to)
		if err != nil {
			n.failed(err)
		}
		n.mu.Lock()
		if err == nil {
			n.promised = to
		}
		n.writing = err == nil && n.last+promise/2 > n.promised
		again := n.writing
		n.mu.Unlock()
		if !again {
			return
		}
	}
}

// After is a number for now that is higher than others.
func After(now time.Time, others ...uint64) uint64 {
	out := uint64(max(now.UnixNano(), 0))
	for _, other := range others {
		out = max(out, other+1)
	}
	return out
}

// save replaces the file. It is not synced: what a power cut may take is an hour's promise, and the clock stands in.
func save(file string, promised uint64) error {
	temporary := file + ".new"
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if err == nil {
		err = os.WriteFile(temporary, binary.BigEndian.AppendUint64(nil, promised), 0o600)
	}
	if err == nil {
		err = os.Rename(temporary, file)
	}
	if err != nil {
		return fmt.Errorf("keep the last sequence number: %w", err)
	}
	return nil
}
