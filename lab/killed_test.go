package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"
)

// TestKilledLauncherTakesItsLabAlong kills -9 the process that booted the lab,
// once while it boots and once when it is up.
func TestKilledLauncherTakesItsLabAlong(t *testing.T) {
	for _, c := range []struct {
		name    string
		backend Backend
		until   string // progress after which the launcher is killed
	}{
		{"while a UML guest boots", UML, "start FRR"},
		{"while native routers run", Native, isUp},
	} {
		t.Run(c.name, func(t *testing.T) {
			needLab(t, load(t, "testdata/two-routers.yaml"), c.backend)
			name := fmt.Sprintf("test-%d-killed", os.Getpid())
			launcher := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLauncherProcess$")
			reached := make(chan struct{})
			launcher.Env = append(os.Environ(), "LAB_TEST_NAME="+name, "LAB_TEST_BACKEND="+string(c.backend), "LAB_TEST_OUTPUT="+t.TempDir())
			said := &trigger{word: c.until, hit: reached}
			launcher.Stdout, launcher.Stderr = said, os.Stderr
			if err := launcher.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- launcher.Wait() }()
			select {
			case <-reached:
			case err := <-ended:
				t.Fatalf("the launcher does not come so far: %v\n%s", err, said.said.String())
			}
			s, err := readState(name)
			if err != nil {
				t.Fatal(err)
			}
			seen := takeFootprint(t, s)
			if err := launcher.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-ended
			seen.gone(t)
			if _, err := Attach(name); !errors.Is(err, ErrNoLab) {
				t.Errorf("a killed lab can be attached to: %v", err)
			}
			if err := Down(name); err != nil {
				t.Errorf("taking down a killed lab: %v", err)
			}
		})
	}
}

// isUp is in no text about a lab that does not come up.
const isUp = "the launcher has its lab"

// TestLauncherProcess is the process that the test above kills.
func TestLauncherProcess(t *testing.T) {
	name := os.Getenv("LAB_TEST_NAME")
	if name == "" {
		return // only as that process
	}
	l, err := Up(t.Context(), load(t, "testdata/two-routers.yaml"), Options{
		Name: name, Backend: Backend(os.Getenv("LAB_TEST_BACKEND")), Output: os.Getenv("LAB_TEST_OUTPUT"),
		Progress: func(text string) { fmt.Println(text) },
	})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(isUp)
	for { // until killed; an empty select is a deadlock where no other goroutine is left
		time.Sleep(time.Minute)
		runtime.KeepAlive(l) // the collector of garbage would close its lifeline, and the lab end by itself
	}
}
