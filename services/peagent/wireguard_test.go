package peagent

import (
	"crypto/ecdh"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tunnel is wireguard-go between the PEs, to compare with. It encrypts, which the agent does not.
type tunnel struct {
	n     *network
	names [2]string
	cmds  []*exec.Cmd
}

// wireguardGo builds the tunnel's program as tools/wireguard pins it.
func wireguardGo(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "wireguard")
	cmd := exec.Command("go", "build", "-C", "../../tools/wireguard", "-o", path, "golang.zx2c4.com/wireguard")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build wireguard-go: %v: %s", err, out)
	}
	return path
}

// tunnel starts it on both PEs; no traffic takes it yet.
func (n *network) tunnel(program string) *tunnel {
	n.T.Helper()
	w := &tunnel{n: n}
	n.T.Cleanup(w.end)
	var keys [2]*ecdh.PrivateKey
	for i := range keys {
		var err error
		if keys[i], err = ecdh.X25519().GenerateKey(rand.Reader); err != nil {
			n.T.Fatal(err)
		}
	}
	for i := range keys {
		w.names[i] = fmt.Sprintf("wg%d-%d", os.Getpid()%10000, ports.Add(1))
		cmd := exec.Command("ip", "netns", "exec", n.NS(fmt.Sprint("pe", i+1)), program, "-f", w.names[i])
		cmd.Env, cmd.Stderr = append(os.Environ(), "LOG_LEVEL=error"), os.Stderr
		if err := cmd.Start(); err != nil {
			n.T.Fatal(err)
		}
		w.cmds = append(w.cmds, cmd)
		w.configure(i, keys[i], keys[1-i].PublicKey())
	}
	return w
}

// configure speaks the tunnel's own protocol, so that wg(8) is not needed.
func (w *tunnel) configure(i int, own *ecdh.PrivateKey, far *ecdh.PublicKey) {
	w.n.T.Helper()
	var c net.Conn
	var err error
	for range 100 {
		if c, err = net.Dial("unix", "/var/run/wireguard/"+w.names[i]+".sock"); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		w.n.T.Fatalf("wireguard-go: %v", err)
	}
	defer c.Close()
	fmt.Fprintf(c, "set=1\nprivate_key=%s\nlisten_port=51820\npublic_key=%s\nendpoint=10.255.0.%d:51820\nallowed_ip=0.0.0.0/0\n\n",
		hex.EncodeToString(own.Bytes()), hex.EncodeToString(far.Bytes()), 2-i)
	answer := make([]byte, 64)
	k, err := c.Read(answer)
	if err != nil && err != io.EOF || !strings.Contains(string(answer[:k]), "errno=0") {
		w.n.T.Fatalf("configure wireguard-go: %v: %s", err, answer[:k])
	}
	w.n.In(fmt.Sprint("pe", i+1), "ip", "link", "set", w.names[i], "mtu", "1500", "up")
}

// use sends the customers' traffic through the tunnel.
func (w *tunnel) use() {
	for i, name := range w.names {
		w.n.In(fmt.Sprint("pe", i+1), "ip", "route", "replace", fmt.Sprintf("10.%d.0.0/17", 2-i), "dev", name)
		w.n.In(fmt.Sprint("pe", i+1), "ip", "route", "replace", fmt.Sprintf("10.%d.128.0/17", 2-i), "dev", name)
	}
}

// leave sends it beside the tunnel again.
func (w *tunnel) leave() {
	for i := range w.names {
		w.n.In(fmt.Sprint("pe", i+1), "ip", "route", "del", fmt.Sprintf("10.%d.0.0/17", 2-i))
		w.n.In(fmt.Sprint("pe", i+1), "ip", "route", "del", fmt.Sprintf("10.%d.128.0/17", 2-i))
	}
}

// cpu is the seconds of processor both ends had.
func (w *tunnel) cpu() (sum float64) {
	for _, c := range w.cmds {
		// ip netns exec becomes the program: the process id is the program's.
		sum += processorOf(c.Process.Pid)
	}
	return sum
}

func (w *tunnel) end() {
	for _, c := range w.cmds {
		_ = c.Process.Signal(os.Interrupt)
		_ = c.Wait()
	}
	w.cmds = nil
}
