// Package child starts programs that the kernel ends with this process, however it ends, so that nothing stays behind.
//
// In: a command that is not started. Out: the running program, and a channel that is closed when it has ended.
// Next: internal/testkit, which runs real servers, and lab/experiments/storm.
package child

import (
	"os/exec"
	"runtime"
	"syscall"
)

// Start starts cmd and waits for it; ended is closed then, and cmd.ProcessState says how.
//
// The parent of PR_SET_PDEATHSIG is the thread that forked, not its process (prctl(2)), and a thread ends with any
// goroutine that keeps it locked, such as one that was in another network namespace. So the thread that forks here is
// kept until the program has ended.
func Start(cmd *exec.Cmd) (ended <-chan struct{}, err error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	started, done := make(chan error), make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // cmd.ProcessState has it
		}
	}()
	return done, <-started
}
