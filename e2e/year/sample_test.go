package year

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/etcd"
	"github.com/millrace/millrace/internal/testkit/program"
)

// week is how many days there are between two samples.
const week = 7

// sample is what everything needs after a day.
type sample struct {
	day, pairs, flows int
	// keys of etcd, by the first part.
	keys map[string]etcd.Use
	// octets of etcd in use, of its file and of its folder; of the store's folder; of the logs.
	inUse, file, folder, store, logs int64
}

// all keys.
func (s sample) all() (n int) {
	for _, u := range s.keys {
		n += u.Keys
	}
	return n
}

// measure ends a day: etcd is compacted. It reads the processes, and each week, when push has collected, the rest as
// well.
func (w *world) measure(t *testing.T, n int) {
	t.Helper()
	w.Etcd.Compact(t)
	for _, service := range services {
		w.meters.Sample(service, w.URL(service), float64(n))
	}
	if n%week != 0 && n != *days {
		return
	}
	w.rules(n)
	w.collected(t)
	w.weeks = append(w.weeks, w.sample(t, n))
	s := w.weeks[len(w.weeks)-1]
	t.Logf("day %d after %s: %d pairs, %d change sets, %d of them kept, %d keys, %.1f of %.1f MiB of etcd, %.1f MiB in the store, %d wrong", n, time.Since(w.begun).Round(time.Second),
		s.pairs, w.count.asked, s.keys[changeSets].Keys, s.all(), mib(s.inUse), mib(s.file), mib(s.store), len(w.wrong))
}

func (w *world) sample(t *testing.T, n int) sample {
	t.Helper()
	s := sample{day: n, pairs: len(w.inForce[n-1]), keys: w.Etcd.Usage(t)}
	var known bool
	var err error
	s.inUse, known = w.Etcd.InUse()
	if !known {
		t.Fatal("etcd does not run")
	}
	s.file, s.folder = w.Etcd.File(), size(t, w.Etcd.Folder())
	if s.flows, err = w.storedFlows(t, w.from, w.End); err != nil {
		t.Fatal(err)
	}
	s.store = size(t, filepath.Join(w.Dir, "data"))
	logs, err := filepath.Glob(w.logs())
	if err != nil {
		t.Fatal(err)
	}
	for _, log := range logs {
		s.logs += size(t, log)
	}
	return s
}

// size of a file, or of all below a folder in which others make and remove files meanwhile; of one with several names
// once.
func size(t *testing.T, path string) (octets int64) {
	t.Helper()
	seen := map[uint64]bool{}
	err := filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			if inode := info.Sys().(*syscall.Stat_t).Ino; !seen[inode] {
				seen[inode] = true
				octets += info.Size()
			}
		}
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return octets
}

// finish looks at the store once more, and takes the last reading after that.
func (w *world) finish(t *testing.T) {
	t.Helper()
	if w.date(*days).Add(-retention).After(w.from) {
		w.restart(t, *days)
	} else {
		w.retained(t, *days)
	}
	w.weeks = append(w.weeks[:len(w.weeks)-1], w.sample(t, *days))
}

// collected waits until push has given up and deleted what is too much. While a change set is under way it leaves what
// its routers have been given, and here one nearly always is; a real day has hours of which none has.
func (w *world) collected(t *testing.T) {
	t.Helper()
	program.Until(t, "push has collected", func() (bool, any) {
		keys := w.Etcd.Usage(t)
		return keys[changeSets].Keys <= w.mostRecords() && keys[plans].Keys <= w.mostPlans(), keys
	})
	w.count.collected++
	w.Etcd.Compact(t)
}

// changeSets and plans are the prefixes of push's keys.
const (
	changeSets = "changes"
	plans      = "change-contents"
)

// mostRecords is how many change sets there are at most after a collection: those that are kept by number, and of the
// older ones those in force, from each of which at least one config entry of a router is.
func (w *world) mostRecords() int { return keepRecords + w.entries() }

// mostPlans is the same of plans: one of each router, in one piece.
func (w *world) mostPlans() int { return len(w.Plane.Routers) * (keepPlans + w.entries()) }

// entries are the config entries of all routers.
func (w *world) entries() (n int) {
	for _, r := range w.Plane.Routers {
		n += len(r.Entries())
	}
	return n
}
