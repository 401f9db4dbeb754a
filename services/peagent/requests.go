package peagent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/services/peagent/datapath"
	"github.com/millrace/millrace/services/peagent/law"
	"github.com/millrace/millrace/services/peagent/management"
)

const (
	// batch is the number of management packets sent in one system call.
	batch = 128
	// firstRequestInterval is the time between requests to a peer that has never answered, where there is traffic.
	firstRequestInterval = 200 * time.Millisecond
	// retryInterval is the shortest time after which a request without an answer is followed by another.
	retryInterval = 20 * time.Millisecond
	// tailInterval is the shortest time after which fewer than Delta packets get a management packet.
	tailInterval = 100 * time.Millisecond
)

// requests is a batch of management packets. The egress programs of the core ports stamp and sign them.
type requests struct {
	conn     *ipv4.PacketConn
	local    netip.Addr
	key      uint8
	messages []ipv4.Message
	n        int
	failed   func(int)
}

// listen opens the socket of management packets. Its mark identifies them to the egress programs. They carry no UDP
// checksum, because stamping would make it wrong.
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

// add puts a request into the batch.
func (r *requests) add(index, vpn uint32, f *vpnFlow, probe bool) {
	sequence := &f.sequence
	if probe {
		sequence = &f.probeSequence
	}
	*sequence++
	m := &r.messages[r.n]
	p := management.Packet{
		Kind: management.Request, Key: r.key, Probe: probe, FlowIndex: index, VPN: vpn, Ingress: r.local, Egress: f.pe(), Sequence: *sequence,
	}
	p.Put(m.Buffers[0])
	m.Addr = f.to
	if r.n++; r.n == batch {
		r.flush()
	}
}

// flush sends the batch. A packet that cannot be sent is like a lost one: another request follows.
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

// requestDue reports whether a management packet is due: one for Delta data packets, but at most PerRoundTrip in a
// round trip; without data only to repeat a lost request. What counts is when it would depart, not when it joins the
// queue.
func (a *Agent) requestDue(f *vpnFlow, packets, departure uint64) bool {
	since := time.Duration(departure - min(departure, f.lastRequest))
	rtt := time.Duration(f.SRTT * 1e9)
	switch {
	case f.Phase == law.NoFeedback:
		return packets != f.packetsAtRequest && since >= firstRequestInterval
	case packets-f.packetsAtRequest >= uint64(a.cfg.Delta):
		return since >= rtt/time.Duration(a.cfg.PerRoundTrip)
	}
	// A lost request is repeated, and the last packets of a burst get feedback, although they are fewer than Delta.
	return f.oldestRequest != 0 && since >= max(rtt, retryInterval) || packets != f.packetsAtRequest && since >= max(rtt, tailInterval)
}

// sendRequest puts a request into the batch; departure is its departure time from the flow's queue.
func (a *Agent) sendRequest(index uint32, f *vpnFlow, departure uint64) {
	f.lastRequest = departure
	if f.oldestRequest == 0 {
		f.oldestRequest = departure
	}
	a.requests.add(index, a.cfg.VPNs[f.vpn].ID, f, false)
	a.metrics.requests.Inc()
	if a.mode == datapath.HTB {
		// Departure times behind HTB are estimates, so probes measure the round-trip time without queueing. Each
		// request gets one: with one sample per round trip, the rate and the queue in the core oscillate.
		a.requests.add(index, a.cfg.VPNs[f.vpn].ID, f, true)
		a.metrics.requests.Inc()
	}
}
