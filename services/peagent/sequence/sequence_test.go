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
	n, err := Open(file, now, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	return n
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

func TestADiskThatFailsIsToldOf(t *testing.T) {
	errFull := errors.New("disk full")
	told := make(chan error, 1)
	n, err := Open("", noon, func(err error) { told <- err })
	if err != nil {
		t.Fatal(err)
	}
	n.write = func(uint64) error { return errFull }
	first := n.Next(noon.Add(time.Hour))
	if err := await.Value(t, "the failure", told); !errors.Is(err, errFull) {
		t.Errorf("told of %v", err)
	}
	if second := n.Next(noon); second <= first {
		t.Errorf("%d comes after %d", second, first)
	}
}

func TestHalfAFileIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sequence")
	if err := os.WriteFile(file, []byte{1, 2, 3}, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file, noon, nil); err == nil {
		t.Error("half a file was read")
	}
}
