// Package kubenode runs a whole Kubernetes node for tests: etcd, API server, controller manager, scheduler, containerd,
// kubelet, kube-proxy, kube-router, which enforces NetworkPolicies, and CoreDNS, in namespaces that one kill ends; and
// further nodes, without a control plane.
//
// In: the programs that tools/k8s/fetch.sh builds, and what tools/k8s/packages.sh installs. The test's process
// needs a network of its own (internal/testkit/faults.OwnNetwork): it is the world outside of the cluster.
// Out: a cluster at Address, its API by kubectl and helm, and what its programs logged.
// Next: e2e/k8s.
package kubenode

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/millrace/millrace/internal/testkit/pki"
	"github.com/millrace/millrace/internal/testkit/program"
)

// Addresses of the first node, and of the test outside of the cluster.
const (
	Address = "10.77.0.2"
	Outside = "10.77.0.1"

	allPods  = "10.244.0.0/16"
	services = "10.96.0.0/16"
	dns      = "10.96.0.10"
)

// Patience is how long anything may take before the test gives up on it: a busy machine is no finding.
const Patience = 10 * time.Minute

// Node is a running node.
type Node struct {
	// Folder has the disk, the configuration and the logs.
	Folder string
	// Name and Address are the node's in the cluster; pods have addresses of a network of the node's own.
	Name, Address, pods string
	// others are the cluster's other nodes.
	others []*Node
	pki    *pki.Authority
	bin    string
	cgroup string
	// pid is the first process in the node's namespaces.
	pid     int
	outer   *program.Process
	running map[string]*program.Process
}

// Start boots a node with an empty cluster, and ends it with the test. Bin has the programs.
func Start(t *testing.T, bin string) *Node {
	t.Helper()
	bin, err := filepath.Abs(bin)
	if err != nil {
		t.Fatal(err)
	}
	n := &Node{Name: "n1", Address: Address, pods: "10.244.1.0/24", Folder: t.TempDir(), pki: pki.New(t), bin: bin, cgroup: fmt.Sprint(cgroups, os.Getpid())}
	removeLeft(t)
	layCable(t)
	n.boot(t)
	n.Apply(t, manifest("addons.yaml"))
	n.Kubectl(t, "-n", "kube-system", "rollout", "status", "deployment/coredns", "--timeout", Patience.String())
	return n
}

// Metrics adds metrics-server, from which autoscalers know what pods use, and waits until the API has it.
func (n *Node) Metrics(t *testing.T) {
	t.Helper()
	n.image(t, metricsServer, "metrics-server")
	n.Apply(t, manifest("metrics.yaml"))
	n.await(t, "the API of metrics is there", "wait", "--for=condition=Available", "apiservice/v1beta1.metrics.k8s.io", "--timeout=5s")
}

// Join adds a node without a control plane, and ends it with the test.
func (n *Node) Join(t *testing.T) *Node {
	t.Helper()
	i := len(n.others) + 2
	other := &Node{
		Name: fmt.Sprint("n", i), Address: fmt.Sprint("10.77.0.", i+1), pods: fmt.Sprintf("10.244.%d.0/24", i), others: []*Node{n},
		Folder: t.TempDir(), pki: n.pki, bin: n.bin, cgroup: fmt.Sprint(n.cgroup, "-", i),
	}
	n.others = append(n.others, other)
	other.boot(t)
	n.Run(t, "ip", "route", "add", other.pods, "via", other.Address)
	return other
}

// boot writes a node's files, and starts it for the first time.
func (n *Node) boot(t *testing.T) {
	t.Helper()
	n.files(t)
	t.Cleanup(func() { n.PowerOff(t) })
	n.PowerOn(t)
	n.images(t)
}

// firstProcess is the script of the node's first process. What its programs write lies in the folder D: /var/lib is a
// disk that stays, /run and /var/log are not. Kubelet sets parameters of the kernel, which is the host's: it finds
// files in their places that have its values. NetworkPolicies are for what one pod sends another over a bridge, too.
const firstProcess = `set -eu
mount --make-rslave /
mount --make-rshared /
mount --bind "$D/lib" /var/lib
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /var/log
mount -t bpf bpf /sys/fs/bpf
for f in "$D"/sysctl/*; do mount --bind "$f" "/proc/sys/$(basename "$f" | tr . /)"; done
ip link set lo up
echo 1 > /proc/sys/net/ipv4/ip_forward
[ -e /proc/sys/net/bridge ] || modprobe br_netfilter
echo 1 > /proc/sys/net/bridge/bridge-nf-call-iptables
touch "$D/up"
exec "$D/pause"`

// tunables are the parameters that kubelet wants.
var tunables = map[string]string{
	"vm.overcommit_memory": "1", "vm.panic_on_oom": "0", "kernel.panic": "10", "kernel.panic_on_oops": "1",
	"kernel.keys.root_maxkeys": "1000000", "kernel.keys.root_maxbytes": "25000000",
}

// PowerOn boots the node from its disk, and waits until Kubernetes says that it is ready.
func (n *Node) PowerOn(t *testing.T) {
	t.Helper()
	up := filepath.Join(n.Folder, "up")
	if err := os.Remove(up); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	n.running = map[string]*program.Process{}
	n.outer = program.Start(t, n.Folder, "namespaces", "unshare", "--mount", "--net", "--pid", "--uts", "--ipc", "--fork", "--kill-child", "--mount-proc",
		"env", "D="+n.Folder, "sh", "-c", firstProcess)
	Until(t, "the node's namespaces are there", func() (bool, any) {
		if n.outer.Ended() {
			t.Fatalf("the node's namespaces: %s\n%s", n.outer.State(), n.outer.Tail())
		}
		_, err := os.Stat(up)
		return err == nil, err
	})
	n.pid = child(t, n.outer.Pid())
	n.connect(t)
	if n.Address == Address {
		n.control(t)
	}
	n.worker(t)
}

// child is the one child of a process.
func child(t *testing.T, pid int) int {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		t.Fatalf("children of unshare: %q: %v", raw, err)
	}
	return n
}

// PowerOff ends everything in the node at once, as a host does that loses its power. The disk stays.
func (n *Node) PowerOff(t *testing.T) {
	t.Helper()
	n.outer.Signal(t, syscall.SIGKILL)
	Until(t, "the node's processes are gone", func() (bool, any) { return n.removeCgroups() == nil, n.removeCgroups() })
}

// layCable makes the network between the test and its nodes.
func layCable(t *testing.T) {
	t.Helper()
	all := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "nodes"}}
	must(t, netlink.LinkAdd(all))
	address, err := netlink.ParseAddr(Outside + "/24")
	must(t, err)
	must(t, netlink.AddrAdd(all, address))
	must(t, netlink.LinkSetUp(all))
	lead(t, services, Address)
}

// lead leads packets to a network via a node.
func lead(t *testing.T, network, node string) {
	t.Helper()
	to, err := netlink.ParseIPNet(network)
	must(t, err)
	all, err := netlink.LinkByName("nodes")
	must(t, err)
	must(t, netlink.RouteReplace(&netlink.Route{Dst: to, Gw: net.ParseIP(node), LinkIndex: all.Attrs().Index}))
}

// connect makes the cable of the node.
func (n *Node) connect(t *testing.T) {
	t.Helper()
	all, err := netlink.LinkByName("nodes")
	must(t, err)
	cable := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: n.Name, MasterIndex: all.Attrs().Index}, PeerName: "uplink"}
	must(t, netlink.LinkAdd(cable))
	peer, err := netlink.LinkByName("uplink")
	must(t, err)
	must(t, netlink.LinkSetNsPid(peer, n.pid))
	must(t, netlink.LinkSetUp(cable))
	n.Run(t, "ip", "addr", "add", n.Address+"/24", "dev", "uplink")
	n.Run(t, "ip", "link", "set", "uplink", "up")
	n.Run(t, "ip", "route", "add", "default", "via", Outside)
	for _, other := range n.others {
		n.Run(t, "ip", "route", "add", other.pods, "via", other.Address)
	}
	lead(t, n.pods, n.Address)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// within is a command in the node's namespaces.
func (n *Node) within(command ...string) []string {
	return append([]string{"nsenter", "-t", strconv.Itoa(n.pid), "-m", "-n", "-p", "-u", "-i", "--"}, command...)
}

// Run runs a command on the node and returns what it prints.
func (n *Node) Run(t *testing.T, command ...string) string {
	t.Helper()
	argv := n.within(command...)
	out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
	return string(out)
}

// launch starts one of the node's programs.
func (n *Node) launch(t *testing.T, what string, command ...string) {
	n.running[what] = program.Start(t, n.Folder, what, n.within(command...)...)
}

// supervise is launch for a program that is started again when it ends, as a host's supervisor does.
func (n *Node) supervise(t *testing.T, what string, args ...string) {
	n.launch(t, what, append([]string{"sh", "-c", `while :; do "$@"; sleep 1; done`, "sh", n.Program(what)}, args...)...)
}

// Until asks until it is done.
func Until(t testing.TB, what string, ask func() (done bool, state any)) {
	t.Helper()
	begin := time.Now()
	for {
		done, state := ask()
		if done {
			t.Logf("%s after %s", what, time.Since(begin).Round(100*time.Millisecond))
			return
		}
		if time.Since(begin) > Patience {
			t.Fatalf("after %s not yet: %s; last: %v", Patience, what, state)
		}
		time.Sleep(200 * time.Millisecond)
	}
}
