package child

import (
	"os/exec"
	"runtime"
	"testing"
)

// The main goroutine keeps the main thread from here on: that one does not end with a goroutine, so that a program that
// was started on it is never killed.
func init() { runtime.LockOSThread() }

// endThread starts a program on a thread, which ends then.
func endThread(t *testing.T, start func() error) {
	t.Helper()
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with its goroutine
		failed <- start()
	}()
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
}

// TestAProgramOutlivesTheThreadThatAskedForIt: with Pdeathsig alone it is killed then, which is what the second half of
// the test shows.
func TestAProgramOutlivesTheThreadThatAskedForIt(t *testing.T) {
	cmd := exec.Command("cat") // until its input ends
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var ended <-chan struct{}
	endThread(t, func() (err error) { ended, err = Start(cmd); return err })

	other := exec.Command("cat")
	held, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	other.SysProcAttr = cmd.SysProcAttr
	endThread(t, other.Start)
	if err := other.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("a program whose thread has ended: %v", err)
	}
	// The first one's thread would have ended before the second one's.
	select {
	case <-ended:
		t.Fatalf("the program ended: %s", cmd.ProcessState)
	default:
	}
	if err := input.Close(); err != nil {
		t.Fatal(err)
	}
	<-ended
	if !cmd.ProcessState.Success() {
		t.Errorf("the program ended: %s", cmd.ProcessState)
	}
}

func TestAProgramThatIsNotThereDoesNotStart(t *testing.T) {
	ended, err := Start(exec.Command("/nowhere"))
	if err == nil {
		t.Fatal("it started")
	}
	<-ended
}
