package peagent

import (
	"context"
	"fmt"
	"net"
	"runtime"

	"github.com/vishvananda/netns"
)

// dialer makes TCP connections from a node: a socket belongs to the namespace it is made in.
func (n *network) dialer(node string, d *net.Dialer) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		type result struct {
			conn net.Conn
			err  error
		}
		done := make(chan result)
		go func() {
			runtime.LockOSThread() // the thread is not given back
			h, err := netns.GetFromName(n.NS(node))
			if err == nil {
				err = netns.Set(h)
				h.Close()
			}
			if err != nil {
				done <- result{nil, fmt.Errorf("enter %s: %w", node, err)}
				return
			}
			conn, err := d.DialContext(ctx, network, address)
			done <- result{conn, err}
		}()
		r := <-done
		return r.conn, r.err
	}
}
