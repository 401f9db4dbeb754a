package storm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"time"

	"github.com/millrace/millrace/internal/child"
	"github.com/millrace/millrace/lab/experiments/controlplane"
)

// process is this program again, which is killed and begins again.
type process struct {
	name, log string
	argv      []string
	// ready is what answers 200 when it can be asked.
	ready  string
	cmd    *exec.Cmd
	exited <-chan struct{}
}

// begin does not wait. The kernel ends the process with this one.
func (p *process) begin() error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find own binary: %w", err)
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	defer log.Close()
	p.cmd = exec.Command(self, p.argv...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if p.exited, err = child.Start(p.cmd); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	return nil
}

// kill gives it no chance to finish anything.
func (p *process) kill() error {
	if p.cmd == nil {
		return nil
	}
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s: %w", p.name, err)
	}
	<-p.exited
	return nil
}

// patience is how long anything may take before the run gives up.
const patience = 2 * time.Minute

// await waits until it can be asked.
func (p *process) await(ctx context.Context) error {
	var last error
	err := until(ctx, p.name+" answers", func() (bool, error) {
		select {
		case <-p.exited:
			return false, fmt.Errorf("%s ended; its log says:\n%s", p.name, controlplane.Tail(p.log))
		default:
		}
		_, last = read(ctx, p.ready)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%w; the last answer: %v", err, last)
	}
	return nil
}

// until polls.
func until(ctx context.Context, what string, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited %s in vain until %s: %w", patience, what, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// read is the body of an answer that is 200.
func read(ctx context.Context, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	raw, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %.300s", r.Status, raw)
	}
	return string(raw), err
}
