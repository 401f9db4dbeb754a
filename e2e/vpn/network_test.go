package vpn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netns"

	"github.com/millrace/millrace/internal/testkit/program"
	"github.com/millrace/millrace/internal/testkit/vpnnet"
)

// network has the control plane in its core, too.
type network struct{ *vpnnet.Network }

const (
	vpns = 2
	// control is the port of the agents' control API.
	control = "4757"
)

func newNetwork(t *testing.T) *network {
	t.Helper()
	return &network{vpnnet.TwoPEs(t, vpns, "50mbit", 100_000)}
}

// http is a client in a node: a socket belongs to the namespace it is made in. The thread comes back from there and
// lives on, because processes that it started die with it.
func (n *network) http(node string) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		home, err := netns.Get()
		if err != nil {
			return nil, err
		}
		defer home.Close()
		there, err := netns.GetFromName(n.NS(node))
		if err != nil {
			return nil, err
		}
		defer there.Close()
		if err := netns.Set(there); err != nil {
			return nil, err
		}
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return c, errors.Join(err, netns.Set(home))
	}}}
}

// send starts TCP of a VPN from left to right, until the test ends.
func (n *network) send(vpn int) {
	n.T.Helper()
	port := fmt.Sprint(5300 + vpn)
	for _, c := range []*exec.Cmd{
		n.Load("right", "iperf3", "-s", "-p", port),
		n.Load("left", "iperf3", "-c", fmt.Sprintf("10.2.%d.2", vpn), "-p", port, "-t", "600", "-P", "4"),
	} {
		if err := c.Start(); err != nil {
			n.T.Fatal(err)
		}
		n.T.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
		program.Until(n.T, "iperf3 listens on "+port, func() (bool, any) {
			sockets := n.In("right", "ss", "-lnt")
			return strings.Contains(sockets, ":"+port), sockets
		})
	}
}

// ratio waits until VPN 2 gets between least and most times what VPN 1 gets, over some seconds.
func (n *network) ratio(least, most float64) {
	n.T.Helper()
	program.Until(n.T, fmt.Sprintf("VPN 2 has %g to %g times VPN 1", least, most), func() (bool, any) {
		before := n.Arrived()
		time.Sleep(4 * time.Second)
		after := n.Arrived()
		got := (after[1] - before[1]) / (after[0] - before[0])
		return got >= least && got <= most, fmt.Sprintf("%.2f", got)
	})
}
