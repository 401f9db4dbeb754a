package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
)

// Control is the name under which `lab exec` reaches the lab netns: the place
// of the control plane, outside the guest.
const Control = "control"

// Stream is where a program's input and output go; all may be nil.
type Stream struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Env            []string // added to the guest's
}

// ExitError is a program that ended with a code other than zero.
type ExitError struct {
	Node   string
	Argv   []string
	Code   int
	Stderr string // where no Stream took it
}

func (e *ExitError) Error() string {
	return fmt.Sprintf("%s on %s: exit status %d: %s", strings.Join(e.Argv, " "), e.Node, e.Code, strings.TrimSpace(e.Stderr))
}

// Exec runs a program on a node until it ends, and kills it with everything it
// started when ctx is cancelled. The empty node is the guest itself.
func (l *Lab) Exec(ctx context.Context, node string, argv []string, s Stream) error {
	if len(argv) == 0 {
		return errors.New("no command given")
	}
	var said bytes.Buffer
	if s.Stderr == nil {
		s.Stderr = &said
	}
	r := request{Exec: &execRequest{Node: node, Argv: argv, Env: s.Env, Stdin: s.Stdin != nil}}
	end, err := l.order(ctx, r, call{stdin: s.Stdin, stdout: s.Stdout, stderr: s.Stderr})
	if err != nil {
		return fmt.Errorf("run %s on %s: %w", argv[0], orGuest(node), err)
	}
	if end.Code != 0 {
		return &ExitError{Node: orGuest(node), Argv: argv, Code: end.Code, Stderr: said.String()}
	}
	return nil
}

// Capture runs a program on a node and returns what it printed.
func (l *Lab) Capture(ctx context.Context, node string, argv ...string) (string, error) {
	var out bytes.Buffer
	err := l.Exec(ctx, node, argv, Stream{Stdout: &out})
	return out.String(), err
}

// Daemons lists the nodes' daemons and what became of them.
func (l *Lab) Daemons(ctx context.Context) ([]DaemonStatus, error) {
	var list []DaemonStatus
	end, err := l.order(ctx, request{Daemons: true}, call{})
	if err != nil {
		return nil, fmt.Errorf("read the status of daemons: %w", err)
	}
	return list, decode(end.Data, &list)
}

// Command is a program of this machine, run inside the lab netns and the lab's PID namespace: it reaches
// the routers at their management addresses, and it ends with the lab. The file system is this machine's;
// ExtraFiles and everything else of exec.Cmd works, so a listener of the machine's loopback can be handed
// in. Start it with Start or Run of this type, not of exec.Cmd.
type Command struct {
	*exec.Cmd
	state State
}

// Command prepares a program for the lab netns.
func (l *Lab) Command(ctx context.Context, argv ...string) *Command {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return &Command{Cmd: cmd, state: l.State}
}

// Start starts the program inside the lab.
func (c *Command) Start() error {
	if !c.state.Alive() {
		return fmt.Errorf("lab %s: %w", c.state.Name, ErrNoLab)
	}
	return inNamespaces(c.Cmd.Start, c.state.namespace("pid"), c.state.namespace("net"))
}

// Run starts the program and waits for it.
func (c *Command) Run() error {
	if err := c.Start(); err != nil {
		return err
	}
	return c.Wait()
}
