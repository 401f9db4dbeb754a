package lab

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/await"
)

// footprint is everything a running lab occupies on this machine.
type footprint struct {
	state      State
	processes  map[int]string // start time by pid
	namespaces []string       // "net:[4026532177]"
	mounts     []string       // lines of mountinfo
	ended      int            // when the lab was to be gone, in the ticks of startTime
}

// takeFootprint walks down from the supervisor.
func takeFootprint(t *testing.T, s State) footprint {
	t.Helper()
	f := footprint{state: s, processes: map[int]string{}}
	for changed := true; changed; {
		changed = false
		for _, pid := range pids(t) {
			_, known := f.processes[pid]
			_, childOfOurs := f.processes[parent(pid)]
			if known || pid != s.Pid && !childOfOurs {
				continue
			}
			if start, err := startTime(pid); err == nil {
				f.processes[pid], changed = start, true
			}
		}
	}
	for pid := range f.processes {
		f.namespaces = append(f.namespaces, namespacesOf(pid)...)
	}
	own := namespacesOf(os.Getpid())
	f.namespaces = slices.DeleteFunc(f.namespaces, func(ns string) bool { return slices.Contains(own, ns) })
	slices.Sort(f.namespaces)
	f.namespaces = slices.Compact(f.namespaces)
	if len(f.processes) < 3 || len(f.namespaces) < 3 {
		t.Fatalf("the footprint of the lab is too small to be true: %d processes, namespaces %v", len(f.processes), f.namespaces)
	}
	f.mounts = slices.DeleteFunc(mounts(), func(line string) bool { return !f.owns(line) })
	return f
}

// owns reports whether a mount is the lab's now. Later it may not be: the kernel gives a new namespace the
// number of one that is gone.
func (f footprint) owns(line string) bool {
	inside := func(ns string) bool { return strings.Contains(line, ns) }
	return strings.Contains(line, f.state.Output) || slices.ContainsFunc(f.namespaces, inside)
}

func pids(t *testing.T) (all []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

func parent(pid int) int {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	ppid, _ := strconv.Atoi(fields[1])
	return ppid
}

func namespacesOf(pid int) (all []string) {
	for _, kind := range []string{"net", "pid", "mnt"} {
		if id, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", pid, kind)); err == nil {
			all = append(all, id)
		}
	}
	return all
}

func mounts() []string {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		panic(err) // there is no Linux without it
	}
	return slices.Collect(strings.Lines(string(table)))
}

// left lists what is still there.
func (f footprint) left(t *testing.T) (found []string) {
	t.Helper()
	for pid, start := range f.processes {
		if now, err := startTime(pid); err == nil && now == start {
			found = append(found, fmt.Sprintf("process %d", pid))
		}
	}
	for _, pid := range pids(t) {
		if f.later(pid) {
			continue
		}
		for _, ns := range namespacesOf(pid) {
			if slices.Contains(f.namespaces, ns) {
				found = append(found, fmt.Sprintf("namespace %s, held by process %d", ns, pid))
			}
		}
	}
	for _, line := range mounts() {
		if slices.Contains(f.mounts, line) {
			found = append(found, "mount "+line)
		}
	}
	links, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if l.Name == controlLink || l.Name == "vec0" || l.Name == "mgmt" {
			found = append(found, "interface "+l.Name)
		}
	}
	if files, _ := filepath.Glob("/dev/shm/uml/*"); len(files) > 0 {
		found = append(found, fmt.Sprint("files ", files))
	}
	return found
}

// later is true of a process that began after the lab had ended. It belongs to another program, even in a
// namespace with the number of one of the lab's.
func (f footprint) later(pid int) bool {
	start, err := startTime(pid)
	began, numberErr := strconv.Atoi(start)
	return err == nil && numberErr == nil && began > f.ended
}

// ticks is the time since the machine started, in hundredths of a second, as in /proc/PID/stat (proc_pid_stat(5)).
func ticks(t *testing.T) int {
	t.Helper()
	raw, err := os.ReadFile("/proc/uptime")
	if err != nil {
		t.Fatal(err)
	}
	var seconds float64
	if _, err := fmt.Sscan(string(raw), &seconds); err != nil {
		t.Fatal(err)
	}
	return int(seconds * 100)
}

// gone fails unless the lab vanishes without anyone's help. The kernel needs a
// moment to take down the namespaces of a process that was killed.
func (f footprint) gone(t *testing.T) {
	t.Helper()
	f.ended = ticks(t)
	var found []string
	defer func() { // also where await gives up
		if len(found) > 0 {
			t.Logf("left of the lab:\n%s", strings.Join(found, "\n"))
		}
	}()
	await.Every(t, 100*time.Millisecond, "nothing is left of the lab", func() bool {
		found = f.left(t)
		return len(found) == 0
	})
}
