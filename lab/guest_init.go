package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Environment of the guest, set on the kernel's command line or by the
// supervisor.
const (
	envOutput  = "MILLRACE_LAB_OUTPUT"  // the lab's output folder, the one place the guest may write
	envBackend = "MILLRACE_LAB_BACKEND" // uml or native
)

const guestPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/lib/frr"

// guestInit is PID 1 of the guest. It prepares the file system, starts the
// server as a child and from then on only reaps: daemons leave orphans behind,
// and os/exec in the server must not lose its children to a wait for any.
func guestInit() error {
	if Backend(os.Getenv(envBackend)) == Native {
		if err := nativeRoot(os.Getenv(envOutput)); err != nil {
			return err
		}
	}
	if err := guestMounts(os.Getenv(envOutput), Backend(os.Getenv(envBackend))); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find own binary: %w", err)
	}
	server, err := os.StartProcess(self, []string{self, "lab", "guest", "serve"}, &os.ProcAttr{
		Env:   []string{guestPath, "HOME=/run", "TERM=dumb", envOutput + "=" + os.Getenv(envOutput), envBackend + "=" + os.Getenv(envBackend)},
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
	})
	if err != nil {
		return fmt.Errorf("start the guest's server: %w", err)
	}
	return reap(server.Pid)
}

// reap collects children until the one with this pid has ended.
func reap(pid int) error {
	for {
		var status syscall.WaitStatus
		got, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return fmt.Errorf("wait for children: %w", err)
		case got == pid:
			return fmt.Errorf("process %d ended: exit %d, signal %v", pid, status.ExitStatus(), status.Signal())
		}
	}
}

// guestMounts gives the guest a root file system that is the host's to read
// and its own to write: fresh /run, /tmp, /var/tmp, /var/log and /etc/frr.
func guestMounts(output string, backend Backend) error {
	// Opened before anything is put on top of it: a test's output folder is below /tmp.
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find own binary: %w", err)
	}
	keep, err := openKept(output, self)
	if err != nil {
		return err
	}
	type mount struct{ source, target, kind, data string }
	list := []mount{
		{"proc", "/proc", "proc", ""},
		{"sysfs", "/sys", "sysfs", ""},
		{"bpf", "/sys/fs/bpf", "bpf", ""},
		{"tmpfs", "/run", "tmpfs", "mode=755"},
		{"tmpfs", "/tmp", "tmpfs", "mode=1777"},
		{"tmpfs", "/var/tmp", "tmpfs", "mode=1777"},
		{"tmpfs", "/var/log", "tmpfs", "mode=755"},
		{"tmpfs", "/etc/frr", "tmpfs", "mode=755"},
	}
	for _, m := range list {
		if err := unix.Mount(m.source, m.target, m.kind, 0, m.data); err != nil {
			return fmt.Errorf("mount %s on %s: %w", m.kind, m.target, err)
		}
	}
	for _, k := range keep {
		if err := k.restore(); err != nil {
			return err
		}
	}
	if backend == UML {
		// The root is mounted read-only; this is the same folder once more, writable.
		if err := unix.Mount("none", output, "hostfs", 0, output); err != nil {
			return fmt.Errorf("mount the output folder %s: %w", output, err)
		}
		// FRR prints the kernel's host name in its configuration.
		return errors.Join(unix.Sethostname([]byte("lab")), modulePaths())
	}
	return nil
}

// kept is a path that must stay visible under a new mount.
type kept struct {
	path string
	file *os.File
	dir  bool
}

func openKept(paths ...string) ([]kept, error) {
	var all []kept
	for _, path := range paths {
		f, err := os.OpenFile(path, unix.O_PATH, 0)
		if err != nil {
			return nil, fmt.Errorf("open %s from inside the guest: %w", path, err)
		}
		info, err := f.Stat()
		if err != nil {
			return nil, fmt.Errorf("stat %s: %w", path, err)
		}
		all = append(all, kept{path, f, info.IsDir()})
	}
	return all, nil
}

func (k kept) restore() error {
	defer k.file.Close()
	if _, err := os.Stat(k.path); err == nil {
		return nil
	}
	target := k.path
	if !k.dir {
		target = filepath.Dir(k.path)
	}
	if err := os.MkdirAll(target, 0o755); err != nil {
		return fmt.Errorf("make place for %s: %w", k.path, err)
	}
	if !k.dir {
		if err := os.WriteFile(k.path, nil, 0o755); err != nil {
			return fmt.Errorf("make place for %s: %w", k.path, err)
		}
	}
	source := fmt.Sprintf("/proc/self/fd/%d", k.file.Fd())
	if err := unix.Mount(source, k.path, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("keep %s visible: %w", k.path, err)
	}
	return nil
}

// modulePaths makes Debian's UML modules loadable, also by the kernel itself
// when a qdisc or link type is first used.
func modulePaths() error {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return fmt.Errorf("read the kernel's release: %w", err)
	}
	release := unix.ByteSliceToString(name.Release[:])
	if err := os.MkdirAll("/run/modules/lib/modules", 0o755); err != nil {
		return err
	}
	if err := os.Symlink("/usr/lib/uml/modules/"+release, "/run/modules/lib/modules/"+release); err != nil {
		return err
	}
	script := "#!/bin/sh\nexec /sbin/modprobe -d /run/modules \"$@\"\n"
	if err := os.WriteFile("/run/modprobe", []byte(script), 0o755); err != nil {
		return err
	}
	return os.WriteFile("/proc/sys/kernel/modprobe", []byte("/run/modprobe"), 0o644)
}

// loadModules loads modules of the UML kernel.
func loadModules(names ...string) error {
	out, err := exec.Command("/run/modprobe", append([]string{"-a"}, names...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("load the guest's modules (is the package user-mode-linux whole?): %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}
