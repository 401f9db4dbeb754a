package processes

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// patience is how long anything may take before the test gives up on it.
const patience = 30 * time.Second

// process is one `millrace serve NAME`.
type process struct {
	name   string
	cmd    *exec.Cmd
	exited chan struct{}
	log    string
}

// startProcess does not wait. The kernel kills the process with the test.
func startProcess(t *testing.T, dir, name string) *process {
	t.Helper()
	p := &process{name: name, exited: make(chan struct{}), log: filepath.Join(dir, name+".log")}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p.cmd = exec.Command(program, "serve", name, "--config", filepath.Join(dir, "millrace.yaml"))
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait() // its state says how
	}()
	return p
}

// waitReady asks until the API answers, which is once all of the service runs.
func (p *process) waitReady(t *testing.T, base string) {
	t.Helper()
	until(t, p.name+" answers", func() (bool, any) {
		select {
		case <-p.exited:
			t.Fatalf("%s ended: %s\n%s", p.name, p.cmd.ProcessState, p.tail())
		default:
		}
		r, err := http.Get(base + "/healthz")
		if err != nil {
			return false, err
		}
		defer r.Body.Close()
		return r.StatusCode == http.StatusOK, r.Status
	})
}

// signal returns once the process is gone.
func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	_ = p.cmd.Process.Signal(s) // gone already is seen by whoever looks at its state
	select {
	case <-p.exited:
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		<-p.exited
		t.Errorf("%s did not stop within %s of %s\n%s", p.name, patience, s, p.tail())
	}
}

func (p *process) tail() []byte {
	log, _ := os.ReadFile(p.log) // for a failure message: as much as there is
	return log[max(0, len(log)-3000):]
}

// until asks again and again; the last answer goes into the failure.
func until(t *testing.T, what string, ask func() (done bool, state any)) {
	t.Helper()
	begin := time.Now()
	for deadline := begin.Add(patience); ; {
		done, state := ask()
		if done {
			t.Logf("%s after %s", what, time.Since(begin).Round(time.Millisecond))
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %s not yet: %s; last: %v", patience, what, state)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
