package access

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/wholefile"
)

// TestFilesAreReadAgain: a whole file at once, one that is written in place when the writer has done, and none that
// cannot be used.
func TestFilesAreReadAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users")
	wholefile.Write(t, file, "one")
	var log bytes.Buffer
	refused := false
	load := func() (string, error) {
		raw, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(raw), "bad") {
			err = errors.New("a bad file")
		}
		return string(raw), err
	}
	w, err := Watch(slog.New(slog.NewTextHandler(&log, nil)), func(is bool) { refused = is }, load, file)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	w.now = func() time.Time { return now }
	inPlace := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		what    string
		do      func()
		want    string
		refused bool
	}{
		{"nothing", func() {}, "one", false},
		{"another file", func() { wholefile.Write(t, file, "two") }, "two", false},
		{"a bad file", func() { wholefile.Write(t, file, "bad") }, "two", true},
		{"the same bad file", func() { now = now.Add(time.Hour) }, "two", true},
		{"a good file", func() { wholefile.Write(t, file, "three") }, "three", false},
		{"a file that was emptied to be written", func() { inPlace("") }, "three", false},
		{"half of it, later", func() { now = now.Add(settled); inPlace("fo") }, "three", false},
		{"all of it", func() { now = now.Add(settled); inPlace("four") }, "three", false},
		{"a moment after it", func() { now = now.Add(settled - time.Nanosecond) }, "three", false},
		{"long enough after it", func() { now = now.Add(time.Nanosecond) }, "four", false},
		{"a file that is gone for a moment", func() { os.Remove(file) }, "four", false},
		{"and back, perhaps as the same inode", func() { wholefile.Write(t, file, "five"); w.Get(); now = now.Add(settled) }, "five", false},
		{"a file that is gone", func() { os.Remove(file) }, "five", false},
		{"for as long", func() { now = now.Add(settled) }, "five", true},
	} {
		step.do()
		if got := w.Get(); got != step.want || refused != step.refused {
			t.Errorf("%s: %q, refused %v; want %q, %v", step.what, got, refused, step.want, step.refused)
		}
	}
	if n := strings.Count(log.String(), "cannot be used"); n != 2 {
		t.Errorf("%d lines of refusals:\n%s", n, log.String())
	}
}

func TestAFileThatIsMissingAtTheStartIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "none")
	if _, err := Watch(slog.New(slog.DiscardHandler), nil, func() ([]byte, error) { return os.ReadFile(file) }, file); err == nil {
		t.Error("a file that is not there is ignored")
	}
}
