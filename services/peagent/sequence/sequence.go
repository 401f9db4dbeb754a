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
// and with the clock, as where it cannot be read. failed is called when it cannot be read or written.
func Open(file string, now time.Time, failed func(error)) *Numbers {
	n := &Numbers{write: func(p uint64) error { return save(file, p) }, failed: failed}
	if file == "" {
		n.write = func(uint64) error { return nil }
	} else if err := n.read(file); err != nil {
		failed(err)
	}
	promised := After(now, n.last) + promise
	if err := n.write(promised); err != nil {
		failed(err)
		return n
	}
	n.promised = promised
	return n
}

func (n *Numbers) read(file string) error {
	raw, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("read the last sequence number: %w", err)
	case len(raw) != 8:
		return fmt.Errorf("read the last sequence number: %s has %d bytes and not 8", file, len(raw))
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

// save replaces the file by one that is on the disk: a power cut must not leave an empty one.
func save(file string, promised uint64) error {
	temporary := file + ".new"
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if err == nil {
		err = writeSynced(temporary, binary.BigEndian.AppendUint64(nil, promised))
	}
	if err == nil {
		err = os.Rename(temporary, file)
	}
	if err != nil {
		return fmt.Errorf("keep the last sequence number: %w", err)
	}
	return nil
}

func writeSynced(file string, content []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close())
}
