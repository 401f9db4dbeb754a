package faults

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// asked makes this test binary a program that prints the time for each line that it reads.
const asked = "MILLRACE_TEST_SAYS_THE_TIME"

func TestMain(m *testing.M) {
	if os.Getenv(asked) != "" {
		began := time.Now()
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			fmt.Println(time.Now().UnixNano(), int64(time.Since(began)))
		}
		return
	}
	code, ran, err := OwnNetwork()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if !ran {
		code = m.Run()
	}
	os.Exit(code)
}

// The wall clock of a running program steps, forth, back and to where it was; what it measures does not.
func TestShiftClock(t *testing.T) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), asked+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close(); _ = cmd.Wait() }()
	lines := bufio.NewScanner(out)
	var lived time.Duration
	says := func() (wall time.Time) {
		t.Helper()
		fmt.Fprintln(in)
		if !lines.Scan() {
			t.Fatal("the program has ended")
		}
		var nanos, since string
		fmt.Sscan(lines.Text(), &nanos, &since) //nolint:errcheck // a missing number is none
		n, err := strconv.ParseInt(nanos, 10, 64)
		s, err2 := strconv.ParseInt(since, 10, 64)
		if err != nil || err2 != nil {
			t.Fatalf("it says %q", lines.Text())
		}
		if time.Duration(s) < lived {
			t.Errorf("after %s it has lived for %s", lived, time.Duration(s))
		}
		lived = time.Duration(s)
		return time.Unix(0, n)
	}
	for _, d := range []time.Duration{0, 2 * time.Hour, -2 * time.Hour, 0} {
		if d != 0 || lived != 0 {
			ShiftClock(t, cmd.Process.Pid, d)
		}
		before := time.Now()
		wall := says().Add(-d)
		if after := time.Now(); wall.Before(before.Round(0)) || wall.After(after.Round(0)) {
			t.Errorf("shifted by %s it says %s, between %s and %s", d, wall, before, after)
		}
	}
	if lived > time.Hour {
		t.Errorf("it has lived for %s", lived)
	}
}
