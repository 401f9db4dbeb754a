package program

import (
	"os"
	"strings"
	"testing"
)

func TestThreadsAreThoseOfTheProcess(t *testing.T) {
	self, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	if got := Threads(os.Getpid()); !strings.Contains(got, strings.TrimSpace(string(self))) || strings.Count(got, "\n") < 2 {
		t.Errorf("of this process, which has several threads: %q", got)
	}
	if got := Threads(1 << 30); got != "" {
		t.Errorf("of none: %q", got)
	}
}
