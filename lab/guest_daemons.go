package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// DaemonStatus is what became of a node's daemon.
type DaemonStatus struct {
	Node    string `json:"node"`
	Name    string `json:"name"`
	Pid     int    `json:"pid"` // in the guest
	Running bool   `json:"running"`
	// Exit is the code it ended with; 128 plus the signal if one killed it.
	Exit int `json:"exit,omitempty"`
	// Log is the file, seen from either side.
	Log string `json:"log"`
}

// daemons remembers every daemon that was started. Nothing is restarted.
type daemons struct {
	mu  sync.Mutex
	all []*DaemonStatus
}

func (d *daemons) start(output, node, name string, argv, env []string) error {
	path := filepath.Join(output, "logs", node+"."+name+".log")
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	defer log.Close()
	cmd := execRequest{Argv: argv, Env: env}.command()
	cmd.Stdout, cmd.Stderr = log, log
	if err := start(node, cmd); err != nil {
		return fmt.Errorf("start %s on %s: %w", name, node, err)
	}
	status := &DaemonStatus{Node: node, Name: name, Pid: cmd.Process.Pid, Running: true, Log: path}
	d.mu.Lock()
	d.all = append(d.all, status)
	d.mu.Unlock()
	go func() {
		err := cmd.Wait()
		d.mu.Lock()
		defer d.mu.Unlock()
		status.Running, status.Exit = false, exitOf(cmd, err).Code
	}()
	return nil
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
