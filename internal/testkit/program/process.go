package program

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/child"
	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/standstill"
)

// Patience is how long anything may take before the test gives up on it.
const Patience = await.Patience

// Process is a command and its log.
type Process struct {
	Name   string
	Log    string
	cmd    *exec.Cmd
	exited <-chan struct{}
}

// Start does not wait; the log is NAME.log in a folder. The kernel kills the process with the test.
func Start(t *testing.T, folder, name string, command ...string) *Process {
	t.Helper()
	p := &Process{Name: name, Log: filepath.Join(folder, name+".log")}
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p.cmd = exec.Command(command[0], command[1:]...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if p.exited, err = child.Start(p.cmd); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	return p
}

// Pid is the process's number.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Ended reports whether the process is gone.
func (p *Process) Ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// State is how the process ended.
func (p *Process) State() *os.ProcessState { return p.cmd.ProcessState }

// Ask sends a signal and does not wait.
func (p *Process) Ask(s syscall.Signal) {
	_ = p.cmd.Process.Signal(s) // its state shows that it has ended already
}

// Stand has the process stand still until Move.
func (p *Process) Stand(t *testing.T) {
	t.Helper()
	if err := standstill.Stop(p.Pid()); err != nil {
		t.Fatalf("%s: %v", p.Name, err)
	}
}

// Move ends Stand.
func (p *Process) Move(t *testing.T) {
	t.Helper()
	if err := standstill.Continue(p.Pid()); err != nil {
		t.Fatalf("%s: %v", p.Name, err)
	}
}

// Signal returns once the process is gone.
func (p *Process) Signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	p.Ask(s)
	select {
	case <-p.exited:
	case <-time.After(Patience):
		_ = p.cmd.Process.Kill()
		<-p.exited
		t.Errorf("%s did not stop within %s of %s\n%s", p.Name, Patience, s, p.Tail())
	}
}

// Tail is the end of the log.
func (p *Process) Tail() []byte {
	log, _ := os.ReadFile(p.Log) // for a failure message: as much as there is
	return log[max(0, len(log)-3000):]
}

// WaitReady polls the API until it answers, which is when the whole service runs.
func (p *Process) WaitReady(t *testing.T, base string) {
	t.Helper()
	Until(t, p.Name+" answers", func() (bool, any) {
		if p.Ended() {
			t.Fatalf("%s ended: %s\n%s", p.Name, p.State(), p.Tail())
		}
		r, err := http.Get(base + "/healthz")
		if err != nil {
			return false, err
		}
		defer r.Body.Close()
		return r.StatusCode == http.StatusOK, r.Status
	})
}

// Until polls; the last answer goes into the failure.
func Until(t testing.TB, what string, ask func() (done bool, state any)) {
	t.Helper()
	begin := time.Now()
	for deadline := begin.Add(Patience); ; {
		done, state := ask()
		if done {
			t.Logf("%s after %s", what, time.Since(begin).Round(time.Millisecond))
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %s not yet: %s; last: %v", Patience, what, state)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// ProcessorSeconds are what the process has used, proc_pid_stat(5), where a second has 100 ticks.
func (p *Process) ProcessorSeconds(t *testing.T) float64 {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	after := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	var user, system float64
	if _, err := fmt.Sscan(after[11]+" "+after[12], &user, &system); err != nil {
		t.Fatal(err)
	}
	return (user + system) / 100
}

// PeakMemory is the most that the process had in memory, proc_pid_status(5).
func (p *Process) PeakMemory(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "VmHWM:")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}
