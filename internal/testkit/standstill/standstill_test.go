package standstill

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// child makes this test binary a program of many threads.
const child = "MILLRACE_TEST_HAS_THREADS"

func TestMain(m *testing.M) {
	if os.Getenv(child) != "" {
		for range 32 {
			go func() {
				for {
					time.Sleep(time.Millisecond)
				}
			}()
		}
		fmt.Println("runs")
		select {}
	}
	os.Exit(m.Run())
}

func start(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), child+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// TestNoThreadRunsOn: without waiting, a third of these stops found a thread that ran on, on an idle machine.
func TestNoThreadRunsOn(t *testing.T) {
	pid := start(t).Process.Pid
	for range 200 {
		if err := Stop(pid); err != nil {
			t.Fatal(err)
		}
		if still, err := stands(pid); !still || err != nil {
			t.Fatalf("a thread runs: %v", err)
		}
		if err := Continue(pid); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestAProcessThatHasEnded(t *testing.T) {
	cmd := start(t)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := Stop(cmd.Process.Pid); err == nil {
		t.Error("a process that was killed is stopped")
	}
	_ = cmd.Wait()
	if err := Continue(cmd.Process.Pid); err == nil {
		t.Error("a process that is gone goes on")
	}
}

func TestState(t *testing.T) {
	for stat, want := range map[string]byte{"1 (java) T 0": 'T', "1 (a ) R b) S 0": 'S', "1 (x)": 0, "": 0} {
		if got := state([]byte(stat)); got != want {
			t.Errorf("%q: %q instead of %q", stat, got, want)
		}
	}
}
