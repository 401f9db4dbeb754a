// Package standstill has a process stand still, as on a host that has no processor left.
//
// In: the number of a process. Out: none of its threads runs, until Continue. Next: tests of what a service does while
// Kafka, or another service, does not answer.
//
// kill(2) returns before the threads have stopped: each goes on until it next looks for signals, and a broker answers
// requests meanwhile. So Stop waits for the state of each thread, proc_pid_stat(5).
package standstill

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/millrace/millrace/internal/testkit/await"
)

// Stop returns when no thread of the process runs.
func Stop(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return fmt.Errorf("stop process %d: %w", pid, err)
	}
	for end := time.Now().Add(await.Patience); time.Now().Before(end); time.Sleep(100 * time.Microsecond) {
		if still, err := stands(pid); still || err != nil {
			return err
		}
	}
	return errors.Join(fmt.Errorf("process %d runs %s after SIGSTOP", pid, await.Patience), Continue(pid))
}

// Continue ends Stop.
func Continue(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		return fmt.Errorf("continue process %d: %w", pid, err)
	}
	return nil
}

// stands reports whether every thread of the process has stopped.
func stands(pid int) (bool, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		return false, errors.Join(err, fmt.Errorf("process %d has ended", pid))
	}
	stopped := 0
	for _, file := range threads {
		stat, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // this thread has ended since the list was read
		}
		if err != nil {
			return false, err
		}
		switch state(stat) {
		case 'T':
			stopped++
		case 'Z', 'X': // it has ended and stays in the list until somebody has its status
		default:
			return false, nil
		}
	}
	if stopped == 0 {
		return false, fmt.Errorf("process %d has ended", pid)
	}
	return true, nil
}

// state is the letter behind the name, which is in parentheses and may have any character.
func state(stat []byte) byte {
	_, rest, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	if len(rest) == 0 {
		return 0
	}
	return rest[0]
}
