package vpnnet

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"

	"golang.org/x/sys/unix"
)

// ahead is by how many steps of nice(2) the network's own work goes before the programs that load it. FRR's unit file
// gives routing daemons five.
const ahead = 10

// goFirst lets this process have a processor before the programs that load the network. It is the network: it copies
// the frames of delayed cables and runs the agents, and what it does late is delay and jitter that no cable has and a
// PE's processor would not cause. Threads and programs that begin later inherit it.
func goFirst() error {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, task := range tasks {
		id, err := strconv.Atoi(task.Name())
		if err != nil {
			return err
		}
		err = unix.Setpriority(unix.PRIO_PROCESS, id, -ahead)
		if err != nil && !errors.Is(err, unix.ESRCH) { // a thread may have ended meanwhile
			return fmt.Errorf("priority of thread %d: %w", id, err)
		}
	}
	return nil
}

// Load is a program that loads the network from one of its nodes, with the priority that it would have by itself.
func (n *Network) Load(node string, args ...string) *exec.Cmd {
	return exec.Command("ip", append([]string{"netns", "exec", n.NS(node), "nice", "-n", strconv.Itoa(ahead)}, args...)...)
}
