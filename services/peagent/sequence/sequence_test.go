package sequence

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/await"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func open(t *testing.T, file string, now time.Time) *Numbers {
	t.Helper()
	return Open(file, now, func(err error) { t.Error(err) })
}

// written waits until the file promises more than the last number.
func (n *Numbers) written(t *testing.T) {
	t.Helper()
	await.True(t, "the promise is written", func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return !n.writing && n.promised > n.last
	})
}

// TestNumbersGrow whatever the clock does, and whenever the agent is started again.
func TestNumbersGrow(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state", "sequence")
	n := open(t, file, noon)
	var last uint64
	for i, step := range []struct {
		at      time.Time
		restart bool
	}{
		{noon, false},
		{noon, false},                                        // no time passes
		{noon.Add(-2 * time.Hour), false},                    // set back
		{noon.Add(-2 * time.Hour), true},                     // and the agent starts again
		{noon.Add(3 * time.Hour), false},                     // a clock that runs ahead
		{noon, true},                                         // is mended while the agent is down
		{noon.Add(time.Second), true},                        // and again
		{time.Unix(-5, 0), true},                             // before 1970
		{time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC), false}, // far ahead
		{noon, false},                                        // and back
		{noon, true},
	} {
		if step.restart {
			n = open(t, file, step.at)
		}
		next := n.Next(step.at)
		if next <= last {
			t.Fatalf("step %d: %d comes after %d", i, next, last)
		}
		last = next
		n.written(t)
	}
}

// A disk that does not answer holds up nobody.
func TestNumbersGoOnWhileTheDiskIsSlow(t *testing.T) {
	n := open(t, "", noon)
	disk := make(chan struct{})
	n.write = func(uint64) error { <-disk; return nil }
	first := n.Next(noon.Add(time.Hour))
	if second := n.Next(noon.Add(2 * time.Hour)); second <= first {
		t.Errorf("%d comes after %d", second, first)
	}
	close(disk)
	n.written(t)
}

func TestADiskThatFailsIsReported(t *testing.T) {
	errFull := errors.New("disk full")
	told := make(chan error, 1)
	n := Open("", noon, func(err error) { told <- err })
	n.write = func(uint64) error { return errFull }
	first := n.Next(noon.Add(time.Hour))
	if err := await.Value(t, "the failure", told); !errors.Is(err, errFull) {
		t.Errorf("told of %v", err)
	}
	if second := n.Next(noon); second <= first {
		t.Errorf("%d comes after %d", second, first)
	}
}

// TestAFileThatCannotBeReadIsReported, and numbers begin with the clock; the next start finds a whole one.
func TestAFileThatCannotBeReadIsReported(t *testing.T) {
	for name, content := range map[string][]byte{"half a file": {1, 2, 3}, "an empty file": {}} {
		file, told := filepath.Join(t.TempDir(), "sequence"), 0
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		n := Open(file, noon, func(error) { told++ })
		if got := n.Next(noon); got < uint64(noon.UnixNano()) || told != 1 {
			t.Errorf("%s: told %d times, and numbers begin with %d", name, told, got)
		}
		open(t, file, noon)
	}
}

// TestAFullDiskAtTheStart: numbers grow all the same, and the promise is made as soon as there is room.
func TestAFullDiskAtTheStart(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(folder, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	told := make(chan error, 10)
	n := Open(filepath.Join(folder, "sequence"), noon, func(err error) { told <- err })
	await.Value(t, "the failure", told)
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	first := n.Next(noon)
	n.written(t)
	if again := open(t, filepath.Join(folder, "sequence"), noon.Add(-2*time.Hour)); again.Next(noon.Add(-2*time.Hour)) <= first {
		t.Error("the promise was not kept")
	}
}
