package peagent

import (
	"context"
	"net"
)

// dialer makes TCP connections from a node: a socket belongs to the namespace it is made in.
func (n *network) dialer(node string, d *net.Dialer) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (conn net.Conn, err error) {
		err = n.Enter(node, func() error {
			conn, err = d.DialContext(ctx, network, address)
			return err
		})
		return conn, err
	}
}
