package lab

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// supervisorConfig is the launcher's configuration of the supervisor.
type supervisorConfig struct {
	Backend Backend `json:"backend"`
	Binary  string  `json:"binary"`
	Output  string  `json:"output"`
	Memory  string  `json:"memory"` // UML's, e.g. 2G; a sparse file
}

const (
	envSupervisor = "MILLRACE_LAB_SUPERVISOR"
	lifelineFD    = 3
	// detach on the lifeline means that the lab outlives its launcher.
	detach = 'd'
)

// supervise is PID 1 of the lab's own PID namespace: when it ends, for whatever
// reason, the kernel kills every process in it and frees their resources.
func supervise() error {
	var c supervisorConfig
	if err := json.Unmarshal([]byte(os.Getenv(envSupervisor)), &c); err != nil {
		return fmt.Errorf("decode %s (this command is the lab's own, not yours): %w", envSupervisor, err)
	}
	go watchLifeline(os.NewFile(lifelineFD, "lifeline"))
	if err := privateMounts(); err != nil {
		return err
	}
	// Linux gives each thread its own scheduling, and a child that of the thread
	// it was started from, so this goroutine stays on its thread.
	runtime.LockOSThread()
	preferGuest(c.Backend)
	console := os.Stdout // the launcher's log file
	begin := map[Backend]func(supervisorConfig, *os.File) (*exec.Cmd, error){UML: startUML, Native: startNative}[c.Backend]
	if begin == nil {
		return fmt.Errorf("unknown backend %q", c.Backend)
	}
	cmd, err := begin(c, console)
	if err != nil {
		return err
	}
	return reap(cmd.Process.Pid)
}

// preferGuest lets the guest run whenever it is runnable: a lab measures delays of milliseconds, and a
// compiler beside it must not add to them. User-Mode Linux uses one processor at most and gets it at once
// (round robin, the lowest real-time priority), and always the same one: if it moved between processors,
// whose ordinary programs it keeps waiting, the kernel would stop it for 50 ms in every second to let those
// run. Native nodes are ordinary programs in greater number and are only preferred. Where neither is
// allowed, the lab's figures have more noise, but are not wrong.
func preferGuest(b Backend) {
	const itself = 0
	if b == UML {
		stay(itself)
		if unix.SchedSetAttr(itself, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1}, 0) == nil {
			return
		}
	}
	_ = unix.Setpriority(unix.PRIO_PROCESS, itself, -10)
}

// stay keeps a process on the last of the processors it may use.
func stay(pid int) {
	var may, last unix.CPUSet
	if unix.SchedGetaffinity(pid, &may) != nil {
		return
	}
	for cpu := range 64 * len(may) {
		if may.IsSet(cpu) {
			last.Zero()
			last.Set(cpu)
		}
	}
	_ = unix.SchedSetaffinity(pid, &last)
}

// watchLifeline ends the lab when the launcher's end of the pipe closes, which the kernel does even on kill
// -9, unless the launcher has sent detach before.
func watchLifeline(f *os.File) {
	said := make([]byte, 1)
	if n, _ := f.Read(said); n == 1 && said[0] == detach {
		return
	}
	os.Exit(1)
}

// privateMounts keep what the lab mounts, and the files User-Mode Linux makes,
// away from the machine.
func privateMounts() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	if err := unix.Mount("tmpfs", "/dev/shm", "tmpfs", 0, "mode=1777"); err != nil {
		return fmt.Errorf("mount /dev/shm: %w", err)
	}
	return nil
}

// Reexec runs the parts of a lab that are this same binary started again. A program that boots labs calls
// it first in main (a test: in TestMain) and ends when it returns true.
func Reexec(argv []string) bool {
	if len(argv) < 3 || argv[0] != "lab" {
		return false
	}
	var err error
	switch argv[1] + " " + argv[2] {
	case "supervisor start":
		err = supervise()
	case "guest init":
		err = guestInit()
	case "guest serve":
		err = guestServe()
	case "guest sink":
		err = guestSink(argv[3:])
	case "guest source":
		err = guestSource(argv[3:])
	case "guest streams":
		err = guestStreams(argv[3:])
	default:
		return false
	}
	if err == nil {
		os.Exit(0) // a transfer ends well; the others never do
	}
	fmt.Fprintln(os.Stderr, "lab:", err)
	if argv[1] == "guest" && argv[2] == "init" && Backend(os.Getenv(envBackend)) == UML {
		// A kernel whose init returns panics; halting ends linux.uml cleanly.
		_ = syscall.Reboot(syscall.LINUX_REBOOT_CMD_POWER_OFF)
	}
	os.Exit(1)
	return true
}
