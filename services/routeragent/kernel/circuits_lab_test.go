package kernel

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netns"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/namespaces"
)

// circuitLab is two routers with a core link, and two hosts with two ports to one of them each.
type circuitLab struct {
	*testing.T
	prefix  string
	kernels map[string]*Kernel
	spaces  map[string]netns.NsHandle
}

func (l *circuitLab) run(node, script string) string {
	l.Helper()
	out, err := exec.Command("ip", "netns", "exec", l.prefix+node, "sh", "-ec", script).CombinedOutput()
	if err != nil {
		l.Fatalf("%s: %s: %v: %s", node, script, err, out)
	}
	return string(out)
}

func newCircuitLab(t *testing.T) *circuitLab {
	namespaces.RemoveLeft(t, "l2-")
	l := &circuitLab{T: t, prefix: fmt.Sprintf("l2-%d-", os.Getpid()), kernels: map[string]*Kernel{}, spaces: map[string]netns.NsHandle{}}
	for _, n := range []string{"h1", "p1", "p2", "h2"} {
		if out, err := exec.Command("ip", "netns", "add", l.prefix+n).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", l.prefix+n).Run() })
		l.run(n, "sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1 net.ipv4.ip_forward=1; ip link set lo up")
	}
	for _, link := range [][3]string{{"h1", "p1", "c1"}, {"h1", "p1", "c2"}, {"p1", "p2", "core"}, {"h2", "p2", "c1"}, {"h2", "p2", "c2"}} {
		l.run(link[0], fmt.Sprintf("ip link add %[1]s mtu 9100 type veth peer name %[1]s mtu 9100 netns %[2]s%[3]s; ip link set %[1]s up", link[2], l.prefix, link[1]))
		l.run(link[1], fmt.Sprintf("ip link set %s up", link[2]))
	}
	for _, n := range []string{"p1", "p2"} {
		await.True(t, "the ports of "+n+" are up", func() bool {
			return !strings.Contains(l.run(n, "ip -br link"), "DOWN")
		})
	}
	for i, n := range []string{"p1", "p2"} {
		l.run(n, fmt.Sprintf("ip addr add 10.0.0.%d/24 dev core; ip route add 198.18.0.0/24 via 10.0.0.%d", i+1, 2-i))
		ns, err := netns.GetFromName(l.prefix + n)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ns.Close() })
		l.spaces[n] = ns
		if l.kernels[n], err = Open(Configuration{Namespace: ns, Owned: filepath.Join(t.TempDir(), "owned.json")}, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(l.kernels[n].Close)
	}
	return l
}

// dump is what an agent can change in a router.
func (l *circuitLab) dump(node string) string {
	return l.run(node, "ip -br link | sed 's/@.*//'; tc qdisc show; ip rule; ip -br addr; for p in c1 c2 core; do tc filter show dev $p ingress 2>&1 || true; done")
}

// listen prints each frame that comes in at c1 or c2: port, VLAN, length and what it says.
const listen = `
import select, socket, struct, sys
ports = []
for name in ("c1", "c2"):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    s.bind((name, 0))
    s.setsockopt(263, 8, 1)
    ports.append((name, s))
print("ready", flush=True)
while True:
    for name, s in ports:
        if not select.select([s], [], [], 0.01)[0]:
            continue
        data, more, _, sender = s.recvmsg(65536, 1024)
        if sender[2] == 4:
            continue
        vlan = 0
        for _, kind, raw in more:
            status, = struct.unpack("I", raw[:4])
            if kind == 8 and status & 16:
                vlan = struct.unpack("H", raw[16:18])[0] & 4095
        text = data[14:] if data[12:14] != b"\x81\x00" else data[18:]
        print(name, vlan, data[0:6].hex(), len(data), text[:16].rstrip(b".").decode(errors="replace"), flush=True)
`

// listener is a host that listens.
type listener struct {
	l   *circuitLab
	out *bufio.Scanner
}

func (l *circuitLab) listen(node string) *listener {
	l.Helper()
	cmd := exec.Command("ip", "netns", "exec", l.prefix+node, "python3", "-c", listen)
	out, err := cmd.StdoutPipe()
	if err != nil {
		l.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() {
		_ = cmd.Process.Kill()
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
	})
	w := &listener{l, bufio.NewScanner(out)}
	if !w.out.Scan() || w.out.Text() != "ready" {
		l.Fatalf("%s does not listen", node)
	}
	return w
}

// until are the lines up to that by which each of the words was said. Frames of two ports, and on several processors
// those of one, come in any order.
func (w *listener) until(words ...string) (lines []string) {
	w.l.Helper()
	for w.out.Scan() {
		line := w.out.Text()
		lines = append(lines, line)
		if words = slices.DeleteFunc(words, func(word string) bool { return strings.HasSuffix(line, " "+word) }); len(words) == 0 {
			return lines
		}
	}
	w.l.Fatalf("the listener ended: %v", w.out.Err())
	return nil
}

// aggregate sends a packet of TCP that is several segments on the wire, as a host with TSO does: port, data of each
// segment, IP version, data of all. 12 octets of TCP options are in its headers.
const aggregate = `
import socket, struct, sys
port, gso, network, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
tcp = struct.pack("!HHIIBBHHH", 5001, 5001, 1, 1, 8 << 4, 16, 1000, 0, 0) + b"\x01" * 12
if network == 4:
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + 32 + size, 1, 0x4000, 64, 6, 0, bytes([10, 0, 9, 1]), bytes([10, 0, 9, 2]))
    words = struct.unpack("!10H", ip)
    total = sum(words); total = (total & 0xffff) + (total >> 16); total = (total & 0xffff) + (total >> 16)
    ip, kind, ether = ip[:10] + struct.pack("!H", 0xffff ^ total) + ip[12:], 1, 0x0800
else:
    ip, kind, ether = struct.pack("!IHBB16s16s", 6 << 28, 32 + size, 6, 64, bytes(15) + b"\x01", bytes(15) + b"\x02"), 4, 0x86dd
head = 14 + len(ip) + 32
frame = b"\xff" * 6 + bytes.fromhex("020000000001") + struct.pack("!H", ether) + ip + tcp + b"x" * size
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
s.setsockopt(263, 15, 1)
s.bind((port, ether))
s.send(struct.pack("<BBHHHH", 1, kind, head, gso, 14 + len(ip), 16) + frame)
`

// send sends frames: port, tags, destination, length of the payload and what it says.
func (l *circuitLab) send(node string, frames ...string) {
	l.Helper()
	script := `
import socket, struct, sys
for line in sys.argv[1:]:
    port, tags, to, size, text = line.split()
    frame = bytes.fromhex(to) + bytes.fromhex("020000000001")
    for tag in tags.split(","):
        if tag != "0":
            kind, colon, vlan = tag.rpartition(":")
            frame += struct.pack("!HH", int(kind or "0x8100", 16), int(vlan))
    frame += struct.pack("!H", 0x88b5) + text.encode().ljust(int(size), b".")
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    s.bind((port, 0))
    s.send(frame)
`
	args := append([]string{"netns", "exec", l.prefix + node, "python3", "-c", script}, frames...)
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		l.Fatalf("%v: %s", err, out)
	}
}
