package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"
)

// program is this program again, on a host: one end of a phase's traffic. It prints a word when it is
// ready, reads the time of its start on its standard input, and prints its report at the end. Programs take
// a moment to start, and not the same for each, so all of a phase's are started before any begins.
type program struct {
	what   string
	stdin  *io.PipeWriter
	stdout bytes.Buffer
	ready  chan struct{}
	ended  chan error
}

// start runs `millrace lab guest ROLE ARGUMENT...` on a node.
func (l *Lab) start(ctx context.Context, node, word, role string, args ...string) *program {
	in, out := io.Pipe()
	p := &program{what: role + " on " + node, stdin: out, ready: make(chan struct{}), ended: make(chan error, 1)}
	argv := append([]string{filepath.Join(l.Output, "bin", "millrace"), "lab", "guest", role}, args...)
	go func() {
		said := &trigger{word: word, hit: p.ready}
		err := l.Exec(ctx, node, argv, Stream{Stdin: in, Stdout: &p.stdout, Stderr: said})
		if exit, ok := errors.AsType[*ExitError](err); ok {
			exit.Stderr = said.said.String()
		}
		_ = in.CloseWithError(errors.New("the program has ended"))
		p.ended <- err
	}()
	return p
}

// await returns when the program is ready.
func (p *program) await(ctx context.Context) error {
	select {
	case <-p.ready:
		return nil
	case err := <-p.ended:
		return fmt.Errorf("%s: %w", p.what, errors.Join(err, errors.New("it ended before the phase began")))
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tell writes a value and ends the program's input. If the program has ended, the wait for its end reports
// that.
func (p *program) tell(v any) {
	raw, _ := json.Marshal(v)
	_, _ = p.stdin.Write(raw)
	_ = p.stdin.Close()
}

// readStart is the program's side of tell.
func readStart(in *json.Decoder) (time.Time, error) {
	var start time.Time
	err := in.Decode(&start)
	if errors.Is(err, io.EOF) {
		return start, errors.New("the phase never began")
	}
	if err != nil {
		return start, fmt.Errorf("read the time of the start: %w", err)
	}
	return start, nil
}

// trigger closes hit when a word is first written, and keeps all output: beside its report a program prints
// little more than why it failed.
type trigger struct {
	word string
	hit  chan struct{}
	said strings.Builder
	done bool
}

func (t *trigger) Write(p []byte) (int, error) {
	t.said.Write(p)
	if !t.done && strings.Contains(t.said.String(), t.word) {
		t.done = true
		close(t.hit)
	}
	return len(p), nil
}
