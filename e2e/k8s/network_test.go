//go:build k8s

package k8s

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/testkit/program"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scenario"
)

// network is what is outside of the cluster: three routers in a line, of which the first has an agent, at the address
// that its certificate has.
type network struct {
	lab    *lab.Lab
	router device.Device
	tls    device.TLS
}

func newNetwork(t *testing.T) *network {
	t.Helper()
	s, err := scenario.Load("../faults/testdata/line.yaml")
	if err != nil {
		t.Fatal(err)
	}
	l, err := lab.Up(t.Context(), s, lab.Options{Name: fmt.Sprintf("k8s-%d", os.Getpid()), Backend: lab.UML, Output: t.TempDir(), Binary: program.Path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Down(); err != nil {
			t.Error(err)
		}
	})
	inventory, err := device.Load(l.Inventory())
	if err != nil {
		t.Fatal(err)
	}
	n := &network{lab: l, router: inventory.Devices[0], tls: inventory.TLS}
	n.publish(t)
	return n
}

// publish makes the router's address one of the test's own, and leads what connects to it into the lab.
func (n *network) publish(t *testing.T) {
	t.Helper()
	host, _, err := net.SplitHostPort(n.router.Address)
	if err != nil {
		t.Fatal(err)
	}
	own(t, host)
	l, err := net.Listen("tcp", n.router.Address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	t.Cleanup(func() { end(); l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // the listener is closed
			}
			go n.forward(ctx, c)
		}
	}()
}

// forward copies octets both ways until one side ends.
func (n *network) forward(ctx context.Context, c net.Conn) {
	to, err := n.lab.Dial(ctx, n.router.Address)
	if err != nil {
		c.Close()
		return
	}
	stop := context.AfterFunc(ctx, func() { c.Close(); to.Close() })
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, err := io.Copy(to, c)
		end(to, err)
	}()
	_, err = io.Copy(c, to)
	end(c, err)
	<-done
	c.Close()
	to.Close()
}

// end tells a connection that no more comes, or ends it where the other one broke.
func end(c net.Conn, err error) {
	half, is := c.(interface{ CloseWrite() error })
	if err != nil || !is || errors.Is(half.CloseWrite(), net.ErrClosed) {
		c.Close()
	}
}

// own makes an address one of the test's, which is outside of the cluster.
func own(t *testing.T, host string) {
	t.Helper()
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		t.Fatal(err)
	}
	address, err := netlink.ParseAddr(host + "/32")
	if err != nil {
		t.Fatal(err)
	}
	if err := netlink.AddrReplace(lo, address); err != nil {
		t.Fatal(err)
	}
}
