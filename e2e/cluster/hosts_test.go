package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/internal/testkit/faults"
)

// operators is the test's own address, beside the hosts.
const operators = "10.77.0.254"

// host is a network namespace that stands for a machine.
type host struct {
	name, address string
}

// here is a command that runs on the host.
func (h *host) here(command ...string) []string {
	return append([]string{"ip", "netns", "exec", h.name}, command...)
}

// newHosts joins hosts by a bridge that the test is on, too. The names are the test's own: nobody else sees its mounts.
func newHosts(t *testing.T, names ...string) (all []*host) {
	t.Helper()
	const folder = "/run/netns"
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", folder, "tmpfs", 0, ""); err != nil {
		t.Fatalf("a folder for the names of hosts: %v", err)
	}
	ip(t, "link add bridge0 type bridge")
	ip(t, "addr add "+operators+"/24 dev bridge0")
	ip(t, "link set bridge0 up")
	for i, name := range names {
		h := &host{name, fmt.Sprint("10.77.0.", i+1)}
		ip(t, "netns add "+name)
		ip(t, "link add "+h.cable()+" type veth peer name eth0 netns "+name)
		ip(t, "link set "+h.cable()+" master bridge0 up")
		ip(t, "-n "+name+" addr add "+h.address+"/24 dev eth0")
		ip(t, "-n "+name+" link set eth0 up")
		ip(t, "-n "+name+" link set lo up")
		all = append(all, h)
	}
	return all
}

func ip(t *testing.T, arguments string) {
	t.Helper()
	if out, err := exec.Command("ip", strings.Fields(arguments)...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", arguments, err, out)
	}
}

// cable is the bridge's end of it.
func (h *host) cable() string { return "to-" + h.name }

// cut takes a host off the network in some directions, seen from the bridge.
func (h *host) cut(t *testing.T, directions ...faults.Direction) {
	faults.Cut(t, h.cable(), directions...)
}

func (h *host) mend(t *testing.T) { faults.Mend(t, h.cable()) }
