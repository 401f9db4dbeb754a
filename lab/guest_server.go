package lab

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/scenario"
)

// guest is the server in the guest's first namespace.
type guest struct {
	backend Backend
	output  string
	daemons daemons
}

// guestServe brings up the management bridge and takes orders for ever.
func guestServe() error {
	g := &guest{backend: Backend(os.Getenv(envBackend)), output: os.Getenv(envOutput)}
	if err := g.management(); err != nil {
		return err
	}
	listener, err := net.Listen("tcp4", fmt.Sprintf("%s:%d", guestAddress, controlPort))
	if err != nil {
		return fmt.Errorf("listen for orders: %w", err)
	}
	for {
		conn, err := listener.Accept()
		if err != nil {
			return fmt.Errorf("accept an order: %w", err)
		}
		go g.handle(conn)
	}
}

// management joins the cable to the lab netns (vec0 in either backend) with the
// nodes' mgmt0, which the plan attaches.
func (g *guest) management() error {
	if g.backend == UML {
		if err := loadModules("bridge"); err != nil {
			return err
		}
	}
	return runBatch("", "ip", []string{
		"link set lo up",
		"link add mgmt type bridge",
		fmt.Sprintf("address add %s/%d dev mgmt", guestAddress, scenario.ManagementBits),
		"link set vec0 master mgmt up",
		"link set mgmt up",
	})
}

// runBatch feeds lines to ip or tc in a node's namespace: one process, one
// socket, however many lines.
func runBatch(node, tool string, lines []string) error {
	if len(lines) == 0 {
		return nil
	}
	args := []string{"-batch", "-"}
	if node != "" {
		args = append([]string{"-netns", node}, args...)
	}
	cmd := exec.Command(tool, args...)
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s in %s: %w: %s", tool, orGuest(node), err, strings.TrimSpace(string(out)))
	}
	return nil
}

func orGuest(node string) string {
	if node == "" {
		return "the guest"
	}
	return node
}

func (g *guest) handle(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	out := &frames{w: conn}
	kind, payload, err := readFrame(in)
	if err != nil || kind != frameRequest {
		return
	}
	var r request
	if err := json.Unmarshal(payload, &r); err != nil {
		_ = out.sendJSON(frameExit, exit{Code: 1, Error: "decode order: " + err.Error()})
		return
	}
	answer := g.answer(r, in, out)
	_ = out.sendJSON(frameExit, answer)
}

func (g *guest) answer(r request, in io.Reader, out *frames) exit {
	var err error
	switch {
	case r.Exec != nil:
		return g.exec(*r.Exec, in, out)
	case r.Build != nil:
		err = g.build(*r.Build, out)
	case r.Converge != nil:
		err = converge(*r.Converge, in, out)
	case r.Segments != nil:
		err = g.loadSegments(r.Segments)
	case r.Daemons:
		raw, err := json.Marshal(g.daemons.list())
		if err != nil {
			return exit{Code: 1, Error: err.Error()}
		}
		return exit{Data: raw}
	case r.Counters != nil:
		return counters(r.Counters)
	case r.Sync:
		unix.Sync()
	default:
		err = errors.New("an order without content")
	}
	if err != nil {
		return exit{Code: 1, Error: err.Error()}
	}
	return exit{}
}

func counters(nodes []string) exit {
	read, err := countInterfaces(nodes)
	if err != nil {
		return exit{Code: 1, Error: err.Error()}
	}
	raw, err := json.Marshal(read)
	if err != nil {
		return exit{Code: 1, Error: err.Error()}
	}
	return exit{Data: raw}
}

// command prepares a program; start runs it in the node's namespace.
func (r execRequest) command() *exec.Cmd {
	cmd := exec.Command(r.Argv[0], r.Argv[1:]...)
	cmd.Dir = r.Dir
	cmd.Env = append(os.Environ(), r.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

func start(node string, cmd *exec.Cmd) error {
	if node == "" {
		return cmd.Start()
	}
	if _, err := os.Stat("/run/netns/" + node); err != nil {
		return fmt.Errorf("no node is called %s", node)
	}
	return inNamespaces(cmd.Start, "/run/netns/"+node)
}

// exec runs a program to its end and streams its output. When the client goes away, the program's whole
// process group is killed.
func (g *guest) exec(r execRequest, in io.Reader, out *frames) exit {
	if len(r.Argv) == 0 {
		return exit{Code: 127, Error: "no command given"}
	}
	cmd := r.command()
	cmd.Stdout, cmd.Stderr = out.writer(frameStdout), out.writer(frameStderr)
	// A grandchild that keeps the pipes open must not keep the order open.
	cmd.WaitDelay = time.Second
	var stdin io.WriteCloser
	if r.Stdin {
		var err error
		if stdin, err = cmd.StdinPipe(); err != nil {
			return exit{Code: 126, Error: err.Error()}
		}
	}
	if err := start(r.Node, cmd); err != nil {
		return exit{Code: 127, Error: err.Error()}
	}
	var once sync.Once
	go feed(in, stdin, cmd.Process.Pid, &once)
	err := cmd.Wait()
	once.Do(func() {}) // from here on the pid may be someone else's
	return exitOf(cmd, err)
}

// feed passes the client's frames on, and kills the program when they end.
func feed(in io.Reader, stdin io.WriteCloser, pid int, once *sync.Once) {
	for {
		kind, payload, err := readFrame(in)
		switch {
		case err != nil:
			once.Do(func() { _ = syscall.Kill(-pid, syscall.SIGKILL) })
			return
		case kind == frameStdin && stdin != nil && len(payload) == 0:
			_ = stdin.Close()
		case kind == frameStdin && stdin != nil:
			_, _ = stdin.Write(payload)
		case kind == frameSignal && len(payload) == 1:
			_ = syscall.Kill(-pid, syscall.Signal(payload[0]))
		}
	}
}

// exitOf follows the shell: 128 plus the signal that ended the program.
func exitOf(cmd *exec.Cmd, err error) exit {
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return exit{Code: 128 + int(status.Signal())}
	}
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) && !errors.Is(err, exec.ErrWaitDelay) {
		return exit{Code: 126, Error: err.Error()}
	}
	return exit{Code: cmd.ProcessState.ExitCode()}
}
