package lab

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/scenario"
)

// startNative starts the guest as PID 1 of further namespaces on this kernel,
// behind a veth that takes the name it has under UML.
func startNative(c supervisorConfig, console *os.File) (*exec.Cmd, error) {
	gate, open, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make pipe: %w", err)
	}
	defer gate.Close()
	defer open.Close() // the guest goes on when its management interface is there
	cmd := exec.Command(c.Binary, "lab", "guest", "init")
	cmd.Env = []string{guestPath, "HOME=/run", envOutput + "=" + c.Output, envBackend + "=" + string(Native)}
	cmd.Dir = "/"
	cmd.Stdin, cmd.Stdout, cmd.Stderr = gate, console, console
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the guest: %w", err)
	}
	err = runBatch("", "ip", []string{
		"link set lo up",
		fmt.Sprintf("link add %s type veth peer name vec0 netns %d", controlLink, cmd.Process.Pid),
		fmt.Sprintf("address add %s/%d dev %s", ControllerAddress, scenario.ManagementBits, controlLink),
		"link set " + controlLink + " up",
	})
	return cmd, err
}

// nativeRoot waits for the management interface and makes every mount but the
// output folder read-only, as UML's root is: nothing of a lab is written to the
// machine it runs on. Mounts made afterwards are writable again.
func nativeRoot(output string) error {
	_, _ = os.Stdin.Read(make([]byte, 1))
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount(output, output, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind the output folder: %w", err)
	}
	readOnly := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, readOnly); err != nil {
		return fmt.Errorf("make the root read-only: %w", err)
	}
	writable := &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(unix.AT_FDCWD, output, 0, writable); err != nil {
		return fmt.Errorf("make the output folder writable: %w", err)
	}
	return unix.Mount("tmpfs", "/dev/shm", "tmpfs", 0, "mode=1777")
}
