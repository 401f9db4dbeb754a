package peagent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/services/peagent/management"
)

const batch = 128

// requests is a batch of management packets on their way to the egress programs, which stamp and sign them.
type requests struct {
	conn     *ipv4.PacketConn
	local    netip.Addr
	key      uint8
	messages []ipv4.Message
	n        int
	failed   func(int)
}

// listen opens the socket of management packets. Its mark tells the egress
// programs what it sends; the UDP checksum is left out because it would be wrong after stamping.
func listen(ctx context.Context, local netip.AddrPort, mark uint32) (*net.UDPConn, error) {
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var failed error
		err := c.Control(func(fd uintptr) {
			failed = errors.Join(
				unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_MARK, int(mark)),
				unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_NO_CHECK, 1))
		})
		return errors.Join(err, failed)
	}}
	c, err := lc.ListenPacket(ctx, "udp4", local.String())
	if err != nil {
		return nil, fmt.Errorf("open the socket of management packets on %s (is the address on this router?): %w", local, err)
	}
	return c.(*net.UDPConn), nil
}

func newRequests(c *net.UDPConn, local netip.Addr, failed func(int)) *requests {
	r := &requests{conn: ipv4.NewPacketConn(c), local: local, failed: failed, messages: make([]ipv4.Message, batch)}
	for i := range r.messages {
		r.messages[i].Buffers = [][]byte{make([]byte, management.Size)}
	}
	return r
}

func (r *requests) add(slot, vpn uint32, f *vpnFlow, probe bool) {
	sequence := &f.sequence
	if probe {
		sequence = &f.probes
	}
	*sequence++
	m := &r.messages[r.n]
	p := management.Packet{Kind: management.Request, Key: r.key, Probe: probe, Slot: slot, VPN: vpn, Ingress: r.local, Egress: f.pe(), Sequence: *sequence}
	p.Put(m.Buffers[0])
	m.Addr = f.to
	if r.n++; r.n == batch {
		r.flush()
	}
}

// flush sends the batch. What cannot be sent is like a lost packet: asked again.
func (r *requests) flush() {
	for at := 0; at < r.n; {
		n, err := r.conn.WriteBatch(r.messages[at:r.n], 0)
		if err != nil {
			r.failed(1)
			n = max(n, 0) + 1
		}
		at += n
	}
	r.n = 0
}
