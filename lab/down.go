package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Down ends the lab and returns when nothing of it is left. It may be called
// again, and on a lab that was killed.
func (l *Lab) Down() error {
	if l.Pid != 0 && l.Alive() {
		l.flush()
		if err := l.kill(); err != nil {
			return err
		}
	}
	if l.supervisor != nil {
		_ = l.supervisor.Wait()
		_ = l.lifeline.Close()
		l.supervisor = nil
	}
	if err := os.RemoveAll(stateFolder(l.Name)); err != nil {
		return fmt.Errorf("remove the state of lab %s: %w", l.Name, err)
	}
	return nil
}

// flush lets logs that the guest's kernel still holds reach the host.
func (l *Lab) flush() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_, _ = l.order(ctx, request{Sync: true}, call{})
}

// kill ends the supervisor. As PID 1 of its namespace it is reported dead only
// after the kernel has killed and collected every process in there.
func (l *Lab) kill() error {
	pidfd, err := unix.PidfdOpen(l.Pid, 0)
	if err != nil {
		if errors.Is(err, unix.ESRCH) {
			return nil
		}
		return fmt.Errorf("open the supervisor of lab %s: %w", l.Name, err)
	}
	defer unix.Close(pidfd)
	if !l.Alive() { // the pid was reused between the two looks
		return nil
	}
	if err := unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill the supervisor of lab %s: %w", l.Name, err)
	}
	fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		if n, err := unix.Poll(fds, 1000); n == 1 && err == nil {
			return nil
		}
	}
	return fmt.Errorf("lab %s does not end within 20 s; its supervisor is process %d", l.Name, l.Pid)
}

// Down takes down a lab by name. No such lab is not an error.
func Down(name string) error {
	s, err := readState(name)
	if errors.Is(err, ErrNoLab) {
		return nil
	}
	if err != nil {
		return err
	}
	return (&Lab{State: s}).Down()
}
