package labtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/uml"
)

// inGuest is set for the test binary inside a guest.
const inGuest = "MILLRACE_TEST_GUEST"

// Guest runs the calling test inside a User-Mode Linux guest, whose kernel
// (6.1, interpreter only) has qdiscs and MPLS that the host's may lack. It
// returns true inside; outside it returns false when the guest is done, and the
// test has its verdict.
//
//	if !labtest.Guest(t) {
//		return
//	}
func Guest(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inGuest) != "" {
		return true
	}
	release, err := modules()
	if err != nil {
		t.Fatalf("the guest's kernel is missing (package user-mode-linux): %v", err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "init"), []byte(initScript(t, dir, release, binary(t, dir))), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "linux.uml", "mem=1G", "rootfstype=hostfs", "rootflags=/", "rw", "init="+filepath.Join(dir, "init"), "con=null", "con0=fd:0,fd:1", "quiet")
	preload, err := uml.Environment(dir)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), preload)
	console, err := cmd.CombinedOutput()
	out, readErr := os.ReadFile(filepath.Join(dir, "out"))
	if readErr != nil {
		t.Fatalf("the guest said nothing (%v): %s", err, console)
	}
	if !strings.Contains(string(out), "\nverdict 0\n") {
		t.Errorf("in the guest:\n%s", out)
	} else {
		t.Logf("in the guest:\n%s", out)
	}
	return false
}

func modules() (string, error) {
	list, err := filepath.Glob("/usr/lib/uml/modules/*")
	if err != nil || len(list) == 0 {
		return "", fmt.Errorf("no kernel modules under /usr/lib/uml/modules (%v)", err)
	}
	return filepath.Base(list[0]), nil
}

// binary is the test binary for the guest: this one, unless the race detector is in it. The detector maps
// more address space than a process of the guest has (100 MB at 0x200000000000 fail with ENOMEM), so the
// guest then runs the same tests built without it.
func binary(t *testing.T, dir string) string {
	t.Helper()
	if !raceDetector {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		return self
	}
	plain := filepath.Join(dir, "plain.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", plain, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the guest's test binary without the race detector: %v: %s", err, out)
	}
	return plain
}

// initScript is the guest's first process. Its root file system is the host's;
// what it writes outside the test's folder goes to file systems of its own.
func initScript(t *testing.T, dir, release, binary string) string {
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`#!/bin/sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root %s=1 TMPDIR=/run
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /run
mount -t bpf bpf /sys/fs/bpf
mkdir -p /run/modules/lib/modules
ln -s /usr/lib/uml/modules/%s /run/modules/lib/modules/%s
for m in ipv6 veth sch_htb sch_ingress cls_bpf sch_tbf sch_red sch_gred mpls_router mpls_iptunnel; do modprobe -d /run/modules $m; done
ip link set lo up
cd %s
%s -test.run '^%s$' -test.v > %s/out 2>&1; printf "\nverdict $?\n" >> %s/out
halt -f
`, inGuest, release, release, wd, binary, t.Name(), dir, dir)
}
