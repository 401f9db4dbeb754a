package lab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/millrace/millrace/internal/uml"
	"github.com/millrace/millrace/scenario"
)

// Backend is the kernel that carries the routers.
type Backend string

// The backends.
const (
	Auto   Backend = ""       // native where this kernel has every feature the scenario needs, else uml
	Native Backend = "native" // namespaces on this kernel
	UML    Backend = "uml"    // the same namespaces inside one User-Mode Linux kernel
)

// ParseBackend reads the value of --backend.
func ParseBackend(text string) (Backend, error) {
	switch b := Backend(text); b {
	case Auto, Native, UML:
		return b, nil
	case "auto":
		return Auto, nil
	}
	return Auto, fmt.Errorf("backend %q: use auto, native or uml", text)
}

// umlCommand boots linux.uml with this program as init on a read-only view of
// the host's root file system. The memory file and the kernel's own state go to
// the supervisor's private /dev/shm, so they are gone when it is.
func umlCommand(c supervisorConfig, console *os.File) (*exec.Cmd, error) {
	kernel, err := exec.LookPath("linux.uml")
	if err != nil {
		return nil, fmt.Errorf("find linux.uml (install the package user-mode-linux): %w", err)
	}
	const private = "/dev/shm"
	preload, err := uml.Environment(private)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(kernel,
		"mem="+c.Memory, "rootfstype=hostfs", "rootflags=/", "ro", "init="+c.Binary,
		"con=null", "con0=fd:0,fd:1", "quiet", "uml_dir="+private+"/uml/", "umid=lab",
		"vec0:transport=tap,ifname="+controlLink+",depth=64,gro=1",
		envOutput+"="+c.Output, envBackend+"="+string(UML), "--", "lab", "guest", "init")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + private, "TMPDIR=" + private, preload}
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = console, console
	return cmd, nil
}

// controlLink is the lab netns' end of the management network.
const controlLink = "lab0"

// startUML starts the guest kernel behind a tap.
func startUML(c supervisorConfig, console *os.File) (*exec.Cmd, error) {
	err := runBatch("", "ip", []string{
		"link set lo up",
		"tuntap add " + controlLink + " mode tap",
		fmt.Sprintf("address add %s/%d dev %s", ControllerAddress, scenario.ManagementBits, controlLink),
		"link set " + controlLink + " up",
	})
	if err != nil {
		return nil, err
	}
	cmd, err := umlCommand(c, console)
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(cmd.Path), err)
	}
	return cmd, nil
}
