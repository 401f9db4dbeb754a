package kafka

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

func TestBrokerAnswersAndLeavesNothingBehind(t *testing.T) {
	var pid int
	t.Run("while the test runs", func(t *testing.T) {
		b := Start(t)
		pid = b.process.Process.Pid
		if _, err := os.Stat(b.log); err != nil {
			t.Error(err)
		}
	})
	if pid == 0 {
		t.SkipNow() // the reason was given above
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("broker process %d after its test: got %v, want it gone", pid, err)
	}
}
