package lab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// DaemonStatus is what became of a node's daemon.
type DaemonStatus struct {
	Node    string `json:"node"`
	Name    string `json:"name"`
	Pid     int    `json:"pid"` // in the guest
	Running bool   `json:"running"`
	// Exit is the code it ended with last; 128 plus the signal if one killed it.
	Exit int `json:"exit,omitempty"`
	// Restarts counts how often it was started again.
	Restarts int `json:"restarts,omitempty"`
	// Log is the file, seen from either side.
	Log string `json:"log"`
}

// daemons remembers every daemon that was started.
type daemons struct {
	mu  sync.Mutex
	all []*DaemonStatus
}

// restartPause is how long an agent that ended stays away; one that ends at once for ever costs little.
const restartPause = time.Second

// start starts a daemon. A router's agent is restarted when it ends, as systemd does on a router. Nothing
// else is: the measurements of a lab in which FRR or an exporter ended mean nothing.
func (d *daemons) start(output, node, name string, argv, env []string) error {
	status := &DaemonStatus{Node: node, Name: name}
	cmd, err := status.run(output, argv, env)
	if err != nil {
		return err
	}
	d.mu.Lock()
	d.all = append(d.all, status)
	d.mu.Unlock()
	go func() {
		for {
			exit := exitOf(cmd, cmd.Wait()).Code
			d.change(func() { status.Running, status.Exit = false, exit })
			if name != agentDaemon {
				return
			}
			time.Sleep(restartPause)
			d.change(func() {
				status.Restarts++
				cmd, err = status.run(output, argv, env)
			})
			if err != nil {
				return
			}
		}
	}()
	return nil
}

func (d *daemons) change(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

// run starts the program; its output is appended to its log.
func (s *DaemonStatus) run(output string, argv, env []string) (*exec.Cmd, error) {
	s.Log = filepath.Join(output, "logs", s.Node+"."+s.Name+".log")
	log, err := os.OpenFile(s.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	defer log.Close()
	cmd := execRequest{Argv: argv, Env: env}.command()
	cmd.Stdout, cmd.Stderr = log, log
	if err := start(s.Node, cmd); err != nil {
		return nil, fmt.Errorf("start %s on %s: %w", s.Name, s.Node, err)
	}
	s.Pid, s.Running = cmd.Process.Pid, true
	return cmd, nil
}

func (d *daemons) list() []DaemonStatus {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := make([]DaemonStatus, 0, len(d.all))
	for _, status := range d.all {
		list = append(list, *status)
	}
	slices.SortStableFunc(list, func(a, b DaemonStatus) int {
		if a.Node != b.Node {
			return 0
		}
		return a.Pid - b.Pid
	})
	return list
}
